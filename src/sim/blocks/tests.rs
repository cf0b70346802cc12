use super::*;

#[test]
fn exper() {
    let pols: Vec<Policy> = ["lru","dear","arc","s3fifo","sieve","default"].iter().map(|w| w.parse().unwrap()).collect();
    println!("{:22} {:>5} {}", "", "MB", ["lru","lru-seq","strict","dear","arc","s3fifo","sieve","default","opt"].map(|w| format!("{w:>8}")).join(""));
    let mut sums = vec![0.0; 9];
    for w in ["cscope","glimpse","sort","link","join","cscope+sort","glimpse+link","cscope+wc","glimpse+wc","cscope+sort+link"] {
        let t = w.parse::<BlockRecipe>().unwrap().generate(1);
        let (_, rows) = compare(&t, &pols, &[2<<20,4<<20,6<<20,8<<20]);
        for r in rows {
            let mut all = r.misses.clone(); all.push(r.least);
            for (s, m) in sums.iter_mut().zip(&all) { *s += *m as f64 / all[0] as f64; }
            println!("{:22} {:>5} {}", w, r.bytes>>20, all.iter().map(|m| format!("{m:>8}")).collect::<String>());
        }
    }
    println!("{:28} {}", "mean", sums.iter().map(|m| format!("{:>8.3}", m/40.0)).collect::<String>());
}
