# 5,000 files of half a page to four pages.
cd "$1"
awk 'BEGIN { for (d = 0; d < 50; d++) { system("mkdir d" d)
    for (f = 0; f < 100; f++) { name = "d" d "/f" f
        for (i = 0; i < (f * 37 + d * 11) % 600 + 80; i++) print "line " i " of many" > name
        close(name) } } }'
