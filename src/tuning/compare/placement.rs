//! Times in place and out of place are not compared: where one state has no run in place, the other is compared by its
//! runs out of place.

use std::borrow::Cow;

use crate::{
    collective::{Collective, Scale},
    report::snapshot::{Snapshot, SnapshotGroup},
};

/// Two states with the same placement of each collective and scale, and what was done for that, a sentence each.
pub struct SamePlacement<'a> {
    /// The earlier state; borrowed where nothing had to be brought to another placement.
    pub before: Cow<'a, Snapshot>,
    /// The later state, likewise.
    pub after: Cow<'a, Snapshot>,
    /// The collectives and scales of which another placement is compared, or none.
    pub notes: Vec<String>,
}

/// Brings two states to the placement that both have of each collective and scale; where they have none in common, the
/// collective and scale is in neither.
pub fn same_placement<'a>(before: &'a Snapshot, after: &'a Snapshot) -> SamePlacement<'a> {
    let mut same = SamePlacement { before: Cow::Borrowed(before), after: Cow::Borrowed(after), notes: Vec::new() };
    let key = |group: &SnapshotGroup| (group.collective, group.scale);
    for old in &before.groups {
        let Some(new) = after.groups.iter().find(|new| key(new) == key(old)) else { continue };
        let (in_place, other, when) = match (old.is_out_of_place(), new.is_out_of_place()) {
            (false, true) => (&mut same.before, before, "after"),
            (true, false) => (&mut same.after, after, "before"),
            _ => continue,
        };
        let (collective, scale) = key(old);
        match other.out_of_place.iter().find(|group| key(group) == key(old)) {
            Some(out_of_place) => {
                put(in_place.to_mut(), out_of_place);
                same.notes.push(format!(
                    "{collective} on {scale}: the state {when} has no run in place, so that runs out of place are compared"
                ));
            }
            None => {
                take_out(same.before.to_mut(), (collective, scale));
                take_out(same.after.to_mut(), (collective, scale));
                same.notes.push(format!(
                    "{collective} on {scale}: the state {when} has runs out of place alone, and the other one in place: these \
                     take different times, and nothing is compared. nccl-tests prints both; give sweeps that have both"
                ));
            }
        }
    }
    same
}

fn put(into: &mut Snapshot, group: &SnapshotGroup) {
    let known = into.groups.iter_mut().filter(|of| (of.collective, of.scale) == (group.collective, group.scale));
    known.for_each(|known| known.clone_from(group));
}

fn take_out(of: &mut Snapshot, (collective, scale): (Collective, Scale)) {
    of.groups.retain(|group| (group.collective, group.scale) != (collective, scale));
}
