# 240 objects of 400 functions each, with what a debugger wants to know: 60 MB or so. The compiler sees one text only.
cd "$1"
awk 'BEGIN { print "extern int printf(const char *, ...);"
    for (f = 1; f <= 400; f++) printf "int UNIT_%d(int n) { if (n <= 0) return %d; printf(\"UNIT %d: %%d of many\", n); return n * UNIT_%d(n - 1) + %d; }\n", f, f, f, (f * 7) % 400 + 1, f }' > one.c
sed -i 's/^int \(UNIT_[0-9]*\)(/int \1(int); int \1(/; 1a int UNIT_1(int);' one.c
awk 'BEGIN { for (f = 1; f <= 400; f++) printf "int UNIT_%d(int);\n", f }' > all.h
gcc -O1 -g -include all.h -S one.c
for unit in $(seq 240); do
    sed "s/UNIT/unit$unit/g" one.s > unit.s && as -o "unit$unit.o" unit.s
done
echo 'int unit1_1(int); int main(void) { return unit1_1(0) != 1; }' > main.c && gcc -c main.c
rm one.c one.s unit.s main.c all.h
ls ./*.o > objects
