//! Graph files of NCCL: what is wrong with one, what the links of a machine give, and rings for a machine.

#![allow(clippy::unwrap_used)]

use crate::support::real;
use collectune::topology::{
    dump::{self, Dump, Graphs, Machine, Rates},
    nccl_graph::{self, Check, GraphError},
};

/// A machine as NCCL dumps it: GPUs of a generation behind CPUs, each with its own PCIe 5.0 link of 16 lanes, and what
/// each GPU holds besides.
fn machine(cpu: &str, generation: &str, per_cpu: &[usize], inside: &dyn Fn(usize) -> String) -> Machine {
    let mut dev = 0;
    let mut text = "<system version=\"1\">\n".to_owned();
    for (number, count) in per_cpu.iter().enumerate() {
        text += &format!("<cpu numaid=\"{number}\" arch=\"x86_64\" {cpu}>\n");
        for _ in 0..*count {
            text += &format!(
                "<pci busid=\"0000:{dev:02x}:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\
                 <gpu dev=\"{dev}\" sm=\"{generation}\" rank=\"{dev}\" gdr=\"1\">{}</gpu></pci>\n",
                inside(dev)
            );
            dev += 1;
        }
        text += "</cpu>\n";
    }
    match dump::read(&(text + "</system>")).unwrap() {
        Dump::Machine(machine) => machine,
        Dump::Patterns(_) => panic!("no machine"),
    }
}

const ZEN5: &str = "vendor=\"AuthenticAMD\" familyid=\"191\" modelid=\"2\"";

/// The machine of NVIDIA/nccl #2127: eight RTX PRO 6000 behind two CPUs.
fn two_sockets() -> Machine {
    machine(ZEN5, "120", &[4, 4], &|_| String::new())
}

fn graphs(text: &str) -> Graphs {
    match dump::read(text).unwrap() {
        Dump::Patterns(graphs) => graphs,
        Dump::Machine(_) => panic!("no graphs"),
    }
}

/// A graph file of rings, with attributes.
fn rings(channels: &[&str], speed: &str, attributes: &str) -> String {
    let gpu = |dev: &str| format!("<gpu dev=\"{dev}\"/>");
    let channel = |of: &&str| format!("<channel>{}</channel>", of.split(' ').map(gpu).collect::<String>());
    format!(
        "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" crossnic=\"0\" speedintra=\"{speed}\" speedinter=\"{speed}\" \
         {attributes}>{}</graph></graphs>",
        channels.iter().map(channel).collect::<String>()
    )
}

const ONE: &str = "nchannels=\"1\" typeintra=\"SYS\" typeinter=\"PIX\" samechannels=\"1\"";
const TWO: &str = "nchannels=\"2\" typeintra=\"SYS\" typeinter=\"PIX\" samechannels=\"0\"";

fn checked(text: &str, machine: Option<&Machine>) -> Check {
    let rates = Rates::default();
    let mut all = nccl_graph::checks(&graphs(text), machine.map(|machine| (machine, &rates)));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn links_of_a_machine_give_what_the_specification_says() {
    let machine = two_sockets();
    let both = rings(&["0 1 2 3 7 6 5 4", "0 4 5 6 7 3 2 1"], "16", TWO);
    let found = checked(&both, Some(&machine));
    assert_eq!((found.faults, found.real_gbps), (vec![], Some(16.0)));
    assert!(found.tightest.unwrap().starts_with("cpu "));
    // Crossing four times each way leaves a quarter.
    let alternating = rings(&["0 4 1 5 2 6 3 7"], "8", ONE);
    let found = checked(&alternating, Some(&machine));
    assert_eq!((found.faults, found.real_gbps), (vec![], Some(8.0)));
    // One crossing each way is bound by the CPUs, not by PCIe.
    let found = checked(&rings(&["0 1 2 3 7 6 5 4"], "32", ONE), Some(&machine));
    assert_eq!((found.faults, found.real_gbps), (vec![], Some(32.0)));
    let found = checked(&rings(&["0 1 2 3 7 6 5 4"], "40", ONE), Some(&machine));
    assert_eq!(found.faults.len(), 1);
    assert!(
        found.faults[0].starts_with("each channel states 40 GB/s, and gets 32.00 at most: cpu "),
        "{:?}",
        found.faults
    );
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn public_graph_files_are_read_and_fit_with_shared_data() {
    let machine = two_sockets();
    for (name, real) in [("two_sockets_ring", 16.0), ("two_sockets_alternating", 8.0)] {
        let found = checked(&real::text(&format!("schedules/graphs/{name}.xml")), Some(&machine));
        assert_eq!((found.faults, found.real_gbps), (vec![], Some(real)), "{name}");
    }
    let rates = Rates::default();
    for (nodes, channels) in [("1x8", 28), ("2x8", 64)] {
        let text = |what: &str| real::text(&format!("topology/nccl/mi355x_{nodes}_{what}.xml"));
        let Dump::Machine(machine) = dump::read(&text("topo")).unwrap() else { panic!("no machine") };
        let checks = nccl_graph::checks(&graphs(&text("graph")), Some((&machine, &rates)));
        assert_eq!(checks.iter().map(|check| check.channels).collect::<Vec<_>>(), [channels; 2], "{nodes}");
        for check in &checks {
            assert_eq!(check.faults, [""; 0], "{nodes} {}", check.kind);
        }
        let real = checks[0].real_gbps.unwrap();
        assert!(real >= checks[0].stated_gbps, "{real}");
        let found = nccl_graph::rings(&machine, &rates).unwrap();
        // Each GPU has seven links of 76.8 GB/s; RCCL counts on 28 channels of 12 GB/s.
        assert!((336.0..=537.6).contains(&found.total_gbps()), "{}", found.total_gbps());
    }
}

#[test]
fn faults_of_a_graph_file_are_named() {
    let says = |text: &str| checked(text, Some(&two_sockets())).faults.join("; ");
    let whole = "0 1 2 3 7 6 5 4";
    assert_eq!(
        says(&rings(&["0 1 2 3 7 6 5 5"], "8", ONE)),
        "channel 0 passes GPU 5 again; channel 0 leaves out GPU 4"
    );
    assert_eq!(says(&rings(&["0 1 2 3 7 6 5 4 9"], "8", ONE)), "channel 0 has GPU 9, which the machine has not");
    let said = says(&rings(&[whole], "8", TWO));
    assert_eq!(said, "nchannels is 2, and 1 channel is listed: NCCL takes the others for channels of GPU 0 alone");
    assert!(says(&rings(&[whole; 3], "8", TWO)).starts_with("nchannels is 2, and 3 are listed: NCCL searches"));
    assert_eq!(
        says(&rings(&[whole], "8", &ONE.replace("SYS", "QPI"))),
        "typeintra is \"QPI\", which NCCL takes for LOC"
    );
    assert_eq!(says(&rings(&[whole], "0", ONE)), "speedintra is not above 0");
    let said = says(&rings(&[whole], "8", ONE).replace("version=\"1\"", "version=\"2\""));
    assert_eq!(said, "the version of <graphs> is not 1, which NCCL refuses");
    let notes = |text: &str| checked(text, Some(&two_sockets())).notes.join(" ");
    assert!(
        notes(&rings(&[whole], "8", &ONE.replace("SYS", "PIX"))).contains("typeintra is PIX, and the worst way is SYS")
    );
    assert!(
        notes(&rings(&[whole], "8", ONE).replace("crossnic=\"0\"", "crossnic=\"1\"")).contains("NCCL_CROSS_NIC is 0")
    );
    // Without a machine, GPUs are those of all channels.
    let alone = checked(&rings(&["0 1 2 10", "0 1 2"], "8", TWO), None);
    assert_eq!(alone.faults, ["channel 1 leaves out GPU 10"]);
    assert!(alone.notes[0].contains("hexadecimal: 10 is GPU 16"), "{:?}", alone.notes);
    assert_eq!(alone.real_gbps, None);
}

#[test]
fn rings_for_a_machine_use_what_its_links_have() {
    let rates = Rates::default();
    let found = nccl_graph::rings(&two_sockets(), &rates).unwrap();
    assert_eq!((found.channels.len(), found.each_gbps, found.total_gbps()), (2, 16.0, 32.0));
    assert!(found.tightest.starts_with("cpu "), "{}", found.tightest);
    assert!(found.text.contains("nchannels=\"2\"") && found.text.contains("typeintra=\"SYS\""), "{}", found.text);
    // All links of a fully connected node: seven of 76.8 GB/s to and from each GPU.
    let full = |dev: usize| {
        let others = (0..8).filter(|other| *other != dev);
        others
            .map(|other| format!("<xgmi target=\"0000:{other:02x}:00.0\" count=\"1\" tclass=\"0x120000\"/>"))
            .collect()
    };
    let amd = machine(ZEN5, "90", &[4, 4], &full);
    let total = nccl_graph::rings(&amd, &rates).unwrap().total_gbps();
    assert!((130.0..=7.0 * 20.6).contains(&total), "{total}");
    // Switches: what a GPU's links carry, by channels of at most 60 GB/s.
    let switched = |_: usize| "<nvlink target=\"0000:c0:00.0\" count=\"18\" tclass=\"0x068000\"/>".to_owned();
    let h100 = nccl_graph::rings(&machine(ZEN5, "90", &[4, 4], &switched), &rates).unwrap();
    assert_eq!(h100.channels.len(), 7);
    assert!((370.0..=370.8).contains(&h100.total_gbps()), "{}", h100.total_gbps());
    assert!(h100.text.contains("typeintra=\"NVL\""));
}

#[test]
fn device_numbers_above_nine_are_written_in_hexadecimal() {
    let found = nccl_graph::rings(&machine(ZEN5, "80", &[6, 6], &|_| String::new()), &Rates::default()).unwrap();
    assert!(found.text.contains("dev=\"0xb\"") && !found.text.contains("dev=\"11\""), "{}", found.text);
    let graphs = graphs(&found.text);
    assert_eq!(graphs.patterns[0].channels, found.channels);
}

#[test]
fn machines_without_rings_say_why() {
    let rates = Rates::default();
    let one = machine(ZEN5, "90", &[1], &|_| String::new());
    assert_eq!(nccl_graph::rings(&one, &rates), Err(GraphError::Gpus(1)));
    let several = Rates { nodes: 2, ..Rates::default() };
    assert_eq!(nccl_graph::rings(&two_sockets(), &several), Err(GraphError::Nodes(2)));
}
