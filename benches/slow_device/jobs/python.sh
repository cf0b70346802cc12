# Python's own modules without their tests, compiled, and a program that imports each that can be. They are tried one
# by one, each in an interpreter of its own: some want what is not installed, some end it, some print.
cp -a "$(python3 -c 'import os; print(os.path.dirname(os.__file__))')/." "$1" && cd "$1"
rm -rf test ./*/test ./*/tests site-packages dist-packages idlelib turtledemo ensurepip config-*
find . \( -name '*.py' -o -name '*.so' \) | sed 's,^./,,; s,^lib-dynload/,,; s,\..*$,,; s,/__init__$,,; s,/,.,g' | sort -u |
    grep -v -e __main__ -e '^this$' -e antigravity -e '-' |
    xargs -P 2 -I{} sh -c 'timeout 10 python3 -S -c "import {}" > /dev/null 2>&1 < /dev/null && echo {}; true' | sort > names
{ echo 'names = """'; cat names -; } > main.py <<'END'
"""
import sys
for name in names.split():
    try:
        __import__(name)
    except Exception:
        pass
here = sys.path[0]
count = sum(str(getattr(module, "__file__", "")).startswith(here) for module in list(sys.modules.values()))
sys.exit(0 if count >= 300 else f"only {count} modules")
END
rm names
find . -name __pycache__ -prune -exec rm -rf {} +
python3 -m compileall -q . > /dev/null; true
