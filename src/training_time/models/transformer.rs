//! A decoder model layer by layer, exactly: its parameters, and the operations of a token.

/// A model that predicts the next token.
#[derive(Clone, Debug, PartialEq)]
pub struct Transformer {
    /// Width of a token, in elements.
    pub hidden: u32,
    /// Tokens of the vocabulary.
    pub vocabulary: u32,
    /// Whether the output layer has the weights of the embedding.
    pub is_tied: bool,
    /// The number of learned positions; 0 for none.
    pub positions: u32,
    /// The norm before attention, before the feed-forward part and after the last layer.
    pub norm: Norm,
    /// Layers that follow each other and are alike, with their number; those of multi-token prediction are the last.
    pub layers: Vec<(Layer, u32)>,
    /// How many of the layers are of multi-token prediction (MTP; DeepSeek-V3, arXiv 2412.19437, section 2.2): each
    /// predicts a token further ahead, from a projection of what is before it and with the output layer once more.
    pub prediction_layers: u32,
}

/// The most layers of multi-token prediction; models that are known have one.
pub const MOST_PREDICTION_LAYERS: u32 = 64;

/// How a token is normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// By mean and deviation, with a weight and a bias.
    Layer,
    /// By its root mean square, with a weight.
    Rms,
}

/// One layer: attention, then a feed-forward part, each behind a norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// How tokens see those before them.
    pub attention: Attention,
    /// What is done to each token by itself.
    pub feed_forward: FeedForward,
}

/// How tokens see those before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attention {
    /// Heads of queries that share heads of keys and values.
    Grouped {
        /// Heads of queries.
        heads: u32,
        /// Heads of keys and of values.
        kv_heads: u32,
        /// Width of a head.
        width: u32,
        /// Whether queries, keys and values have a bias.
        has_bias: bool,
        /// Whether the output has a bias.
        has_output_bias: bool,
        /// Whether queries and keys have a norm of a head's width.
        has_qk_norms: bool,
        /// Whether each head has a sink.
        has_sinks: bool,
        /// The number of tokens that a token sees at most.
        window: Option<u32>,
    },
    /// Keys and values from a narrow vector (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    Latent {
        /// Heads.
        heads: u32,
        /// Width of the vector that queries are made of; `None`: of the token itself.
        query_rank: Option<u32>,
        /// Width of the vector that keys and values are made of.
        kv_rank: u32,
        /// Width of a head of queries and keys without positions.
        nope: u32,
        /// Width of that with rotary positions, which all heads of keys share.
        rope: u32,
        /// Width of a head of values.
        value: u32,
    },
}

/// What is done to each token by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeedForward {
    /// The same for all tokens.
    Dense {
        /// Its width.
        width: u32,
        /// Whether a third matrix gates it.
        is_gated: bool,
        /// Whether it has biases.
        has_bias: bool,
    },
    /// Some of many for each token, each gated.
    Experts {
        /// Experts of a layer.
        experts: u32,
        /// Experts that process a token.
        top_k: u32,
        /// Width of an expert, in elements.
        width: u32,
        /// Width of what processes every token beside them; 0 for nothing.
        shared_width: u32,
        /// Whether the router has a bias.
        has_router_bias: bool,
        /// Whether experts have biases.
        has_bias: bool,
    },
}

/// A matrix by which tokens are multiplied: `inner` elements of each become `outer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Its name.
    pub name: &'static str,
    /// Elements of a token that go in.
    pub inner: u32,
    /// Elements that come out.
    pub outer: u32,
}

impl Matrix {
    /// Its number of elements.
    pub fn parameters(&self) -> u64 {
        u64::from(self.inner) * u64::from(self.outer)
    }
}

const fn matrix(name: &'static str, inner: u32, outer: u32) -> Matrix {
    Matrix { name, inner, outer }
}

impl Attention {
    /// The matrices of a layer, each split over the heads but those of the narrow vectors.
    pub fn matrices(&self, hidden: u32) -> Vec<Matrix> {
        match *self {
            Self::Grouped { heads, kv_heads, width, .. } => {
                let outer = heads.saturating_add(kv_heads.saturating_mul(2)).saturating_mul(width);
                vec![matrix("qkv", hidden, outer), matrix("output", heads.saturating_mul(width), hidden)]
            }
            Self::Latent { heads, query_rank, kv_rank, nope, rope, value } => {
                let queries = heads.saturating_mul(nope.saturating_add(rope));
                let mut all = match query_rank {
                    Some(rank) => vec![matrix("query down", hidden, rank), matrix("query up", rank, queries)],
                    None => vec![matrix("query", hidden, queries)],
                };
                all.push(matrix("kv down", hidden, kv_rank.saturating_add(rope)));
                all.push(matrix("kv up", kv_rank, heads.saturating_mul(nope.saturating_add(value))));
                all.push(matrix("output", heads.saturating_mul(value), hidden));
                all
            }
        }
    }

    /// Parameters that are not of a matrix.
    fn others(&self, hidden: u64) -> u64 {
        match *self {
            Self::Grouped { heads, kv_heads, width, has_bias, has_output_bias, has_qk_norms, has_sinks, .. } => {
                let width = u64::from(width);
                let wide = u64::from(heads) * width + 2 * u64::from(kv_heads) * width;
                let of = |has: bool, parameters: u64| if has { parameters } else { 0 };
                of(has_bias, wide)
                    + of(has_output_bias, hidden)
                    + of(has_qk_norms, 2 * width)
                    + of(has_sinks, heads.into())
            }
            Self::Latent { query_rank, kv_rank, .. } => u64::from(kv_rank) + u64::from(query_rank.unwrap_or(0)),
        }
    }

    /// Heads of queries, heads of keys and values, and the mean width of heads of queries and of values.
    pub fn heads(&self) -> (u32, u32, f64) {
        match *self {
            Self::Grouped { heads, kv_heads, width, .. } => (heads, kv_heads, width.into()),
            Self::Latent { heads, nope, rope, value, .. } => {
                (heads, heads, (f64::from(nope) + f64::from(rope) + f64::from(value)) / 2.0)
            }
        }
    }

    /// The number of tokens that a token sees at most.
    pub const fn window(&self) -> Option<u32> {
        match self {
            Self::Grouped { window, .. } => *window,
            Self::Latent { .. } => None,
        }
    }

    /// Pairs of a token with those that it sees, per token of a sequence of this length: half of the square, or of the
    /// window.
    pub fn pairs(&self, sequence: u32) -> f64 {
        let length = f64::from(sequence);
        match self.window() {
            Some(window) if window < sequence => {
                let window = f64::from(window);
                window - window * window / (2.0 * length)
            }
            _ => length / 2.0,
        }
    }

    /// FLOP of scores and their sums of values, per token and forward.
    pub fn flop_per_token(&self, sequence: u32) -> f64 {
        let (heads, _, width) = self.heads();
        4.0 * f64::from(heads) * width * self.pairs(sequence)
    }
}

impl FeedForward {
    /// The matrices by which every token is multiplied: those of a dense part, or of the router and of what processes
    /// all tokens.
    pub fn matrices(&self, hidden: u32) -> Vec<Matrix> {
        match *self {
            Self::Dense { width, is_gated, .. } => dense(hidden, width, is_gated).to_vec(),
            Self::Experts { experts, shared_width, .. } => {
                let mut all = vec![matrix("router", hidden, experts)];
                if shared_width > 0 {
                    all.extend(dense(hidden, shared_width, true));
                }
                all
            }
        }
    }

    /// The matrices of one expert; none without experts.
    pub fn of_expert(&self, hidden: u32) -> Vec<Matrix> {
        match *self {
            Self::Dense { .. } => Vec::new(),
            Self::Experts { width, .. } => dense(hidden, width, true).to_vec(),
        }
    }

    /// Experts of a layer and those that process a token; `None` without experts.
    pub const fn experts(&self) -> Option<(u32, u32)> {
        match self {
            Self::Dense { .. } => None,
            Self::Experts { experts, top_k, .. } => Some((*experts, *top_k)),
        }
    }

    /// Parameters that are not of a matrix, without those of experts; and those of one expert.
    fn others(&self, hidden: u64) -> [u64; 2] {
        match *self {
            Self::Dense { width, is_gated, has_bias } => {
                let wide = u64::from(width) * if is_gated { 2 } else { 1 };
                [if has_bias { wide + hidden } else { 0 }, 0]
            }
            Self::Experts { experts, width, has_router_bias, has_bias, .. } => [
                if has_router_bias { experts.into() } else { 0 },
                if has_bias { 2 * u64::from(width) + hidden } else { 0 },
            ],
        }
    }
}

const fn dense(hidden: u32, width: u32, is_gated: bool) -> [Matrix; 2] {
    let outer = if is_gated { width.saturating_mul(2) } else { width };
    [matrix("up", hidden, outer), matrix("down", width, hidden)]
}

fn sum(matrices: &[Matrix]) -> u64 {
    matrices.iter().map(Matrix::parameters).sum()
}

impl Norm {
    /// Its parameters.
    pub fn parameters(self, hidden: u32) -> u64 {
        u64::from(hidden) * if self == Self::Layer { 2 } else { 1 }
    }
}

impl Layer {
    /// Parameters without experts, and of all experts.
    pub fn parameters(&self, hidden: u32, norm: Norm) -> [u64; 2] {
        let [others, of_expert] = self.feed_forward.others(hidden.into());
        let own = sum(&self.attention.matrices(hidden))
            + self.attention.others(hidden.into())
            + sum(&self.feed_forward.matrices(hidden))
            + others
            + 2 * norm.parameters(hidden);
        let (experts, _) = self.feed_forward.experts().unwrap_or((0, 0));
        [own, u64::from(experts) * (sum(&self.feed_forward.of_expert(hidden)) + of_expert)]
    }

    /// Elements of the matrices by which a token is multiplied.
    pub fn matrix_parameters(&self, hidden: u32) -> u64 {
        let (_, top_k) = self.feed_forward.experts().unwrap_or((0, 0));
        sum(&self.attention.matrices(hidden))
            + sum(&self.feed_forward.matrices(hidden))
            + u64::from(top_k) * sum(&self.feed_forward.of_expert(hidden))
    }
}

impl Transformer {
    /// The number of layers, with those of multi-token prediction.
    pub fn depth(&self) -> u32 {
        self.layers.iter().map(|(_, count)| count).sum()
    }

    /// Sets the number of layers of multi-token prediction, each like the last of the others.
    pub fn set_prediction_layers(&mut self, number: u32) {
        let mut surplus = std::mem::replace(&mut self.prediction_layers, number);
        while let Some((_, count)) = self.layers.last_mut().filter(|_| surplus > 0) {
            let taken = surplus.min(*count);
            *count -= taken;
            surplus -= taken;
            if *count == 0 {
                self.layers.pop();
            }
        }
        match self.layers.last_mut() {
            Some((_, count)) => *count += number,
            None => self.prediction_layers = 0,
        }
    }

    /// The matrix of a layer of multi-token prediction that joins what is before it with the next token's embedding.
    pub fn projection(&self) -> Matrix {
        matrix("projection", self.hidden.saturating_mul(2), self.hidden)
    }

    /// What the layers of multi-token prediction have beside those of a layer: projections, and three norms each.
    pub fn projection_parameters(&self) -> u64 {
        let each = self.projection().parameters() + 3 * self.norm.parameters(self.hidden);
        u64::from(self.prediction_layers) * each
    }

    /// Whether some layer has experts.
    pub fn has_experts(&self) -> bool {
        self.layers.iter().any(|(layer, _)| layer.feed_forward.experts().is_some())
    }

    /// Parameters of the embedding with its positions, and of the output layer where it has its own.
    pub fn ends(&self) -> [u64; 2] {
        let table = u64::from(self.vocabulary) * u64::from(self.hidden);
        let positions = u64::from(self.positions) * u64::from(self.hidden);
        [table + positions, if self.is_tied { 0 } else { table }]
    }

    /// All parameters.
    pub fn parameters(&self) -> u64 {
        self.counted(|layer| layer.parameters(self.hidden, self.norm).iter().sum())
    }

    /// The parameters that a token meets: those of `top_k` experts.
    pub fn active_parameters(&self) -> u64 {
        self.counted(|layer| {
            let [own, of_experts] = layer.parameters(self.hidden, self.norm);
            let (experts, top_k) = layer.feed_forward.experts().unwrap_or((1, 0));
            own + of_experts / u64::from(experts.max(1)) * u64::from(top_k)
        })
    }

    fn counted(&self, of_layer: impl Fn(&Layer) -> u64) -> u64 {
        let layers: u64 = self.layers.iter().map(|(layer, count)| u64::from(*count) * of_layer(layer)).sum();
        let ends = self.ends().iter().sum::<u64>() + self.norm.parameters(self.hidden);
        layers + ends + self.projection_parameters()
    }

    /// Elements of the matrices by which a token is multiplied, with the output layer as often as it is used, and
    /// without the embedding.
    pub fn matrix_parameters(&self) -> u64 {
        let of = |(layer, count): &(Layer, u32)| u64::from(*count) * layer.matrix_parameters(self.hidden);
        let output = u64::from(self.vocabulary) * u64::from(self.hidden);
        let predictions = u64::from(self.prediction_layers) * (self.projection().parameters() + output);
        self.layers.iter().map(of).sum::<u64>() + output + predictions
    }

    /// FLOP of attention per token and forward, of half the square.
    pub fn attention_flop_per_token(&self, sequence: u32) -> f64 {
        let of = |(layer, count): &(Layer, u32)| f64::from(*count) * layer.attention.flop_per_token(sequence);
        self.layers.iter().map(of).sum()
    }

    /// FLOP per token of a training step: three times those of the forward pass, without recomputation.
    pub fn training_flop_per_token(&self, sequence: u32) -> f64 {
        3.0 * (2.0 * self.matrix_parameters() as f64 + self.attention_flop_per_token(sequence))
    }
}
