# A repository of 5,000 files in 100 directories, all committed, all from 2001.
cd "$1" && git init -q .
awk 'BEGIN { for (d = 0; d < 100; d++) { dir = "src/d" d "/lib"; system("mkdir -p " dir)
    for (f = 0; f < 50; f++) { name = dir "/f" f ".c"; printf "file %d of directory %d\n", f, d > name
        for (i = 0; i < f * 7 + d; i++) print "line " i " of many" > name
        close(name) } } }'
git add . && git -c user.name=bench -c user.email=bench@localhost commit -q -m all
find . -exec touch -h -d 2001-01-01 {} +
