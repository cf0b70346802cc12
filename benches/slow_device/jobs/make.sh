# The source of OpenSSH in $2, configured, built once, and cleaned.
cp -a "$2/." "$1" && cd "$1"
./configure > configure.out 2>&1 && make -j2 > make.out 2>&1 && make clean
