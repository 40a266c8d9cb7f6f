//! The answer in words and tables.

use super::{
    answer::{ComparedTrace, StepEstimate},
    exchange::{Exchange, ExchangeSource, ExchangeUse, Operation, TimedExchange},
    layouts::RankedLayout,
    question::Estimated,
    stack::{Recomputation, Sharding},
    step::{Degrees, Schedule},
};
use crate::{
    collective::Collective,
    text::{Column, Entry, Listing, excerpt},
    training_time::{
        memory::GIB,
        models::Transformer,
        samples::Communicator,
        step::listing::{share, time},
    },
    units::{Size, count, file_size, grouped, significant},
};

/// The name of a value in its list of names.
pub fn name_of<T: Copy + PartialEq>(all: &[(T, &'static str)], value: T) -> &'static str {
    all.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

/// `2.46 s a step on 64 × H100-SXM5-80GB (90 %: 2.12 to 3.45 s), without samples`.
pub fn headline(answer: &Estimated) -> String {
    let [low, high] = answer.step.interval_us;
    let basis = match answer.own_steps {
        0 => "without samples".to_owned(),
        own => format!("by {} of your own", count(own as u64, "step")),
    };
    format!(
        "{} a step on {} × {} (90 %: {} to {}), {basis}",
        time(answer.step.time_us),
        grouped(answer.step.gpus),
        answer.gpu,
        time(low),
        time(high)
    )
}

/// `tp 8, pp 4, dp 2, micro-batch 1 × 32, layers recomputed, parameters sharded`.
pub fn layout_in_words(answer: &Estimated) -> String {
    let degrees = answer.degrees;
    let mut parts = vec![format!("tp {}", degrees.tensor), format!("pp {}", degrees.pipeline)];
    let more = [("virtual stages", answer.virtual_stages), ("cp", degrees.context), ("ep", degrees.expert)];
    parts.extend(more.into_iter().filter(|(_, degree)| *degree > 1).map(|(name, degree)| format!("{name} {degree}")));
    parts.push(format!("dp {}", degrees.data));
    parts.push(format!("micro-batch {} × {}", answer.micro_batch, answer.micro_batches));
    parts.push(match answer.recomputation {
        Recomputation::Nothing => "nothing recomputed".to_owned(),
        kind => format!("{} recomputed", name_of(&Recomputation::ALL, kind)),
    });
    parts.push(match answer.sharding {
        Sharding::Nothing => "nothing sharded".to_owned(),
        kind => format!("{} sharded{}", name_of(&Sharding::ALL, kind), groups_in_words(kind, answer.degrees)),
    });
    parts.join(", ")
}

/// ` in 8 groups` of hybrid sharding, else nothing.
fn groups_in_words(kind: Sharding, degrees: Degrees) -> String {
    if kind != Sharding::Nothing && degrees.replicate > 1 {
        format!(" in {} groups", grouped(degrees.replicate.into()))
    } else {
        String::new()
    }
}

/// `tp 2, pp 4, dp 8, b 1` of a layout that was found.
pub fn degrees_in_words(layout: &RankedLayout) -> String {
    let degrees = layout.degrees;
    let more = [("cp", degrees.context), ("ep", degrees.expert)];
    let more: String =
        more.into_iter().filter(|(_, degree)| *degree > 1).map(|(name, degree)| format!(", {name} {degree}")).collect();
    format!("tp {}, pp {}{more}, dp {}, b {}", degrees.tensor, degrees.pipeline, degrees.data, layout.micro_batch)
}

/// A model's layers, parameters and operations.
pub fn model(model: &Transformer, sequence: u32) -> Listing {
    let columns = vec![Column::words("", ""), Column::numbers("Value", "")];
    let row = |name: &str, value: f64, text: String| vec![Entry::text(name), Entry::number(Some(value), |_| text)];
    let billions = |parameters: u64| format!("{:.3} billion", parameters as f64 / 1e9);
    let whole = |name: &str, value: u32| row(name, value.into(), grouped(value.into()));
    let counted = |name: &str, parameters: u64| row(name, parameters as f64, billions(parameters));
    let flop = model.training_flop_per_token(sequence);
    let predicts = model.prediction_layers > 0;
    let mut without = model.clone();
    without.set_prediction_layers(0);
    let rows = [
        Some(counted("Parameters", model.parameters())),
        predicts.then(|| counted("Without multi-token prediction", without.parameters())),
        Some(counted("Active for a token", model.active_parameters())),
        Some(whole("Layers", without.depth())),
        predicts.then(|| whole("Layers of multi-token prediction", model.prediction_layers)),
        Some(whole("Hidden size", model.hidden)),
        Some(whole("Vocabulary", model.vocabulary)),
        Some(row(
            &format!("FLOP per token, sequence {}", grouped(sequence.into())),
            flop,
            format!("{} billion", significant(flop / 1e9)),
        )),
    ];
    Listing { columns, rows: rows.into_iter().flatten().collect() }
}

/// What the answer is based on, and what limits it, beside the [`warnings`]; a sentence each without a full stop.
pub fn notes(answer: &Estimated) -> Vec<String> {
    let of = |source: ExchangeSource| answer.exchanges.iter().filter(|timed| timed.source == source).count();
    let [measured, by_library, by_links] =
        [ExchangeSource::Measured, ExchangeSource::Library, ExchangeSource::Links].map(of);
    let parts =
        [(measured, "as measured"), (by_library, "by NCCL's cost model"), (by_links, "by the bandwidth of links")];
    let used: Vec<String> =
        parts.iter().filter(|(number, _)| *number > 0).map(|(number, how)| format!("{number} {how}")).collect();
    let exchanges = match used.len() {
        1 if measured > 0 => format!("all {} as measured", count(measured as u64, "exchange")),
        1 if by_library > 0 => "exchanges by NCCL's cost model".to_owned(),
        2.. => format!("of {} {}", count(answer.exchanges.len() as u64, "exchange"), used.join(", ")),
        _ => "exchanges by the bandwidth of links".to_owned(),
    };
    let mut notes = vec![format!(
        "No samples: kernels by a roofline with measured shares of the peaks, {exchanges}, the software by factors learnt \
         from published steps. Steps of a source that was left out were off by 5.6 % in the median of the sources, by up \
         to 23 % in the worst{}",
        if answer.has_experts {
            ", those of models with experts by 27 % in the median, and one in ten by more than 54 %"
        } else {
            ""
        }
    )];
    if measured > 0 {
        notes.push(
            "That exchanges are measured does not narrow the interval: no published steps come with theirs".to_owned(),
        );
    }
    notes.extend(answer.unused_collectives.iter().map(|what| {
        format!(
            "What was measured of {what} is not used: this layout has no such exchange, or one that was measured nearer"
        )
    }));
    if !answer.is_measured {
        notes.push(format!(
            "No kernel of {} was measured: the shares are those of four other GPUs together, whose products were off by 6 to \
             19 % when left out",
            answer.gpu
        ));
    }
    if let [(place, _), ..] = &answer.measured_here[..] {
        let times: Vec<String> = answer.measured_here.iter().map(|(_, time_us)| time(*time_us)).collect();
        notes.push(format!(
            "The step of this layout was measured: {} ({place}{}). Its time and interval here are computed all the same, as \
             those of layouts that were not measured",
            times.join(", "),
            if times.len() > 1 { " and others" } else { "" }
        ));
    }
    if answer.own_steps > 0 && answer.own_steps < super::answer::OWN_STEPS {
        notes.push("With three steps of your own or more, of different runs, the interval becomes theirs".to_owned());
    }
    if answer.degrees.replicate > 1 && answer.sharding == Sharding::Nothing {
        notes.push("Groups of replicas (dp_replicate) change nothing: nothing is sharded".to_owned());
    }
    if answer.degrees.pipeline == 1 && answer.schedule != Schedule::default() {
        notes.push(format!("The schedule {} changes nothing: the layout has one stage", answer.schedule.name()));
    }
    if answer.degrees.pipeline == 1 && answer.virtual_stages > 1 {
        notes.push(format!("{} chunks per stage change nothing: the layout has one stage", answer.virtual_stages));
    }
    notes
}

/// What makes the answer another one than was asked for, or doubtful; a sentence each without a full stop.
pub fn warnings(answer: &Estimated) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(part) = answer.step.first_too_much {
        warnings.push(format!(
            "It does not fit: {:.1} GiB of {:.1}; the first that is too much: {}",
            answer.step.memory_bytes / GIB,
            answer.step.capacity_bytes / GIB,
            part.to_lowercase()
        ));
    }
    if answer.steps_without_batch > 0 {
        warnings.push(format!(
            "{} not say the global_batch or the sequence: where one is missing, that of the question is taken",
            match answer.steps_without_batch {
                1 => "A measured step does".to_owned(),
                number => format!("{} do", count(number as u64, "measured step")),
            }
        ));
    }
    let [rows, traces] = answer.without_layout;
    if rows > 0 {
        warnings.push(format!(
            "{} not say tp or pp, which are taken as 1 where they are missing: the columns tp and pp of the table say them",
            if rows == 1 { "A measured step does".to_owned() } else { format!("{rows} measured steps do") }
        ));
    }
    if traces > 0 {
        warnings.push(format!(
            "{} no group of tensor or pipeline ranks, and is taken as of tp 1 and pp 1: give the layout on which it ran",
            if traces == 1 { "A trace names".to_owned() } else { format!("Each of {traces} traces names") }
        ));
    }
    if answer.steps_outside > 0 {
        let steps = count(answer.steps_outside as u64, "measured step");
        let lie = if answer.steps_outside == 1 { "lies" } else { "lie" };
        warnings.push(format!(
            "{steps} of your own {lie} outside of the interval that your steps give together: do they contradict each \
             other, or differ in something that is not told?"
        ));
    }
    if answer.copies_heads {
        warnings.push(
            "More ranks share attention (tp) than there are heads of keys and values: most versions of Megatron Core \
             refuse that, newer ones gather the heads in each layer, which is not in the time"
                .to_owned(),
        );
    }
    warnings.extend(answer.contradictions.iter().cloned());
    warnings.extend(answer.unused_steps.iter().map(|why| format!("A measured step is not used: {why}")));
    warnings.extend(answer.doubtful_steps.iter().map(|what| {
        format!(
            "A measured step is used and is far from what is computed, {what}: is it of this model, layout and batch?"
        )
    }));
    warnings
}

/// Figures of the answer with their names.
pub fn figures(answer: &Estimated) -> Vec<(&'static str, String)> {
    let StepEstimate { tokens_per_s_per_gpu, model_flop_share, tokens, time_us, .. } = answer.step;
    let per_day = tokens / (time_us / 1e6) * 86_400.0;
    let mut figures = vec![
        ("Tokens/s/GPU", grouped(tokens_per_s_per_gpu.round() as u64)),
        ("MFU", share(model_flop_share)),
        ("Tokens/day", format!("{} billion", significant(per_day / 1e9))),
        (
            "Memory",
            format!(
                "{} of {} GiB",
                significant(answer.step.memory_bytes / GIB),
                significant(answer.step.capacity_bytes / GIB)
            ),
        ),
    ];
    let prices =
        [("Price of a step", answer.price_per_step), ("Price of a billion tokens", answer.price_per_billion_tokens())];
    figures.extend(prices.into_iter().filter_map(|(name, price)| Some((name, significant(price?)))));
    figures
}

/// Where the time of the step goes.
pub fn components(step: &StepEstimate) -> Listing {
    let columns = vec![
        Column::words("Component", "what the time of a step goes into, on the busiest stage"),
        Column::numbers("Time", "over all micro-batches"),
        Column::numbers("Share", "of the step"),
    ];
    let row = |name: &str, us: f64| {
        vec![Entry::text(name), Entry::number(Some(us), time), Entry::number(Some(us / step.time_us), share)]
    };
    let mut rows: Vec<Vec<Entry>> = step.components.iter().map(|(name, us)| row(name, *us)).collect();
    rows.push(row("Step", step.time_us));
    Listing { columns, rows }
}

/// A size as people write it, exact if that is short.
fn message_size(bytes: f64) -> String {
    let bytes = bytes.round() as u64;
    let exact = Size(bytes).to_string();
    if exact.len() <= "1023 MiB".len() { exact } else { file_size(bytes) }
}

/// The collective that an exchange is.
pub const fn collective(exchange: &Exchange) -> Collective {
    match (exchange.operation, exchange.of) {
        (Operation::AllReduce, _) => Collective::AllReduce,
        (Operation::Gather, ExchangeUse::Gradients) => Collective::ReduceScatter,
        (Operation::Gather, _) => Collective::AllGather,
        (Operation::Around | Operation::Message, _) => Collective::SendRecv,
        (Operation::ToExperts { .. }, _) => Collective::AllToAll,
    }
}

/// Why the times of [`exchanges`] are not those of the components; `None` where nothing is exchanged.
pub fn exchanges_in_words(answer: &Estimated) -> Option<String> {
    let has = |source: ExchangeSource| answer.exchanges.iter().any(|timed| timed.source == source);
    let [by_links, by_library, measured] =
        [ExchangeSource::Links, ExchangeSource::Library, ExchangeSource::Measured].map(has);
    let computed = match (by_links, by_library) {
        (true, true) => "those by links and by the cost model",
        (false, true) => "those by the cost model",
        _ => "those by links",
    };
    let links = format!(
        "{computed} count times {}, which published steps taught (the software hides a part of them)",
        significant(answer.exchange_factor)
    );
    let how = match (by_links || by_library, measured) {
        (false, false) => return None,
        (true, false) => links,
        (false, true) => "those that were measured count in full".to_owned(),
        (true, true) => format!("{links}, those that were measured in full"),
    };
    Some(format!("Of exchanges the step has what computing beside them does not hide: {how}"))
}

/// What ranks exchange, with the sizes that a tuner is asked about.
pub fn exchanges(answer: &Estimated) -> Listing {
    let columns = vec![
        Column::words("Exchange", "what ranks of the busiest stage exchange"),
        Column::words("Collective", ""),
        Column::words("GPUs", "nodes × GPUs of each"),
        Column::numbers("Size", "as nccl-tests counts it"),
        Column::numbers("Calls", "of a rank in a step"),
        Column::numbers("Time", "of one, hidden behind kernels or not"),
        Column::words("From", "links: by their bandwidth; else NCCL's cost model, or what was measured"),
    ];
    let row = |TimedExchange { exchange, times, time_us, basis, .. }: &TimedExchange| {
        let group = exchange.group;
        let over = Communicator { nodes: group.ranks.div_ceil(group.linked), per_node: group.linked };
        vec![
            Entry::text(exchange.of.name()),
            Entry::text(collective(exchange).name()),
            Entry::text(over.to_string()),
            Entry::number(Some(exchange.message_bytes()), message_size),
            Entry::number(Some(*times), |times| grouped(times.round() as u64)),
            Entry::number(Some(*time_us), time),
            Entry::text(basis.clone()),
        ]
    };
    Listing { columns, rows: answer.exchanges.iter().map(row).collect() }
}

/// A trace beside what is computed for its layout.
pub fn trace(trace: &ComparedTrace) -> Listing {
    let columns = vec![
        Column::words("Part", "of a traced step"),
        Column::numbers("Traced", "on its rank"),
        Column::numbers("Share", "of the step"),
        Column::numbers("Kernels alone", "computed, before any factor of the software"),
        Column::numbers("Factor", "of traced to computed"),
    ];
    let row = |name: &str, us: f64, computed_us: Option<f64>| {
        let factor = computed_us.filter(|computed| *computed > 0.0).map(|computed| us / computed);
        vec![
            Entry::text(name),
            Entry::number(Some(us), time),
            Entry::number(Some(us / trace.step_us), share),
            Entry::number(computed_us, time),
            Entry::number(factor, significant),
        ]
    };
    let parts = trace.parts;
    let [compute, attention, exchange] = trace.computed_us;
    let busy = parts.compute_us + parts.attention_us + parts.exposed_us;
    let rows = vec![
        row("Kernels but attention", parts.compute_us, Some(compute)),
        row("Attention", parts.attention_us, Some(attention)),
        row("Exchanges that nothing hides", parts.exposed_us, Some(exchange)),
        row("Nothing runs", (trace.step_us - busy).max(0.0), None),
    ];
    Listing { columns, rows }
}

/// `The trace trace.json has a step of 2.46 s on 64 GPUs, taken as tp 8, pp 2, cp 1, micro-batch 1`.
pub fn trace_in_words(trace: &ComparedTrace) -> String {
    let layout = trace.layout;
    format!(
        "The trace {} has a step of {} on {}, taken as tp {}, pp {}, cp {}, micro-batch {}",
        excerpt(&trace.name),
        time(trace.step_us),
        count(trace.gpus, "GPU"),
        layout.tensor,
        layout.pipeline,
        layout.context,
        layout.micro_batch
    )
}

/// Memory of the fullest stage.
pub fn memory(step: &StepEstimate) -> Listing {
    let columns = vec![Column::words("Memory", "of the fullest stage"), Column::numbers("GiB", "on one GPU")];
    let row = |(name, bytes): (&str, f64)| {
        vec![Entry::text(name), Entry::number(Some(bytes / GIB), |gib| format!("{gib:.2}"))]
    };
    let parts = step.memory.parts().into_iter().filter(|(_, bytes)| *bytes > 0.0);
    Listing { columns, rows: parts.map(row).chain([row(("All", step.memory_bytes))]).collect() }
}

/// Layouts as a table, the first one the fastest.
pub fn layouts(ranked: &[RankedLayout]) -> Listing {
    let columns = vec![
        Column::numbers("tp", "GPUs among which each matrix is split"),
        Column::numbers("pp", "stages"),
        Column::numbers("v", "chunks of layers per stage"),
        Column::numbers("cp", "GPUs among which a sequence is split"),
        Column::numbers("ep", "GPUs over which experts are spread"),
        Column::numbers("dp", "replicas"),
        Column::numbers("Micro-batch", "sequences"),
        Column::words("Recomputed", "in the backward pass"),
        Column::words("Sharded", "over the replicas, or over those of a group (dp_replicate)"),
        Column::numbers("Step", "estimated time"),
        Column::numbers("Best", "share of draws of the errors, common and its own, in which it is the fastest"),
        Column::numbers("GiB", "memory of the fullest stage"),
    ];
    let whole = |value: u32| Entry::number(Some(value.into()), |value| format!("{value:.0}"));
    let row = |layout: &RankedLayout| {
        let degrees = layout.degrees;
        vec![
            whole(degrees.tensor),
            whole(degrees.pipeline),
            whole(layout.virtual_stages),
            whole(degrees.context),
            whole(degrees.expert),
            whole(degrees.data),
            whole(layout.micro_batch),
            Entry::text(name_of(&Recomputation::ALL, layout.recomputation)),
            Entry::text(
                name_of(&Sharding::ALL, layout.sharding).to_owned() + &groups_in_words(layout.sharding, degrees),
            ),
            Entry::number(Some(layout.time_us), time),
            Entry::number(Some(layout.best_share), share),
            Entry::number(Some(layout.memory_bytes / GIB), |gib| format!("{gib:.1}")),
        ]
    };
    Listing { columns, rows: ranked.iter().map(row).collect() }
}
