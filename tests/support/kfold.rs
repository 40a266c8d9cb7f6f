//! The folds of scikit-learn's `KFold(n_splits, shuffle=True, random_state=seed)`: numpy's `RandomState(seed).shuffle`,
//! cut into parts. It draws from the Mersenne twister MT19937 (Matsumoto, Nishimura 1998).

const LENGTH: usize = 624;

struct Twister {
    state: [u32; LENGTH],
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; LENGTH];
        for at in 1..LENGTH {
            let before = state[at - 1];
            state[at] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        Self { state, next: LENGTH }
    }

    fn draw(&mut self) -> u32 {
        if self.next == LENGTH {
            for at in 0..LENGTH {
                let both = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % LENGTH] & 0x7fff_ffff);
                let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[at] = self.state[(at + 397) % LENGTH] ^ (both >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut drawn = self.state[self.next];
        self.next += 1;
        drawn ^= drawn >> 11;
        drawn ^= (drawn << 7) & 0x9d2c_5680;
        drawn ^= (drawn << 15) & 0xefc6_0000;
        drawn ^ (drawn >> 18)
    }

    /// From 0 to `most`: of as many bits as that needs, the first draw that is not above it.
    fn up_to(&mut self, most: u32) -> u32 {
        let mask = u32::MAX >> most.leading_zeros();
        loop {
            let drawn = self.draw() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

/// The fold of each row.
pub fn shuffled(rows: usize, folds: usize, seed: u32) -> Vec<usize> {
    let mut twister = Twister::new(seed);
    let mut order: Vec<usize> = (0..rows).collect();
    for last in (1..rows).rev() {
        order.swap(last, twister.up_to(last as u32) as usize);
    }
    let mut assigned = vec![0; rows];
    let mut begin = 0;
    for fold in 0..folds {
        // The first ones have one row more, where the rows don't come out even.
        let end = begin + rows / folds + usize::from(fold < rows % folds);
        order[begin..end].iter().for_each(|row| assigned[*row] = fold);
        begin = end;
    }
    assigned
}
