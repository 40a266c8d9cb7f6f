//! The columns of a sweep: their names, what stands in them, and where a table has them.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Algorithm, Collective, Protocol},
    text::{excerpt, is_missing, number},
    units::{Size, first_of},
};

macro_rules! columns {
    ($($(#[$doc:meta])* $item:ident = $name:literal, $meaning:literal, [$($alias:literal),*];)+) => {
        /// A column of rccl-sweep's CSV.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Column { $($(#[$doc])* #[doc = $meaning] $item,)+ }

        impl Column {
            /// All columns that are read, in the order of the format.
            pub const ALL: &[Self] = &[$(Self::$item),+];

            /// The name of the column in the header of a sweep.
            pub const fn name(self) -> &'static str { match self { $(Self::$item => $name),+ } }

            /// The meaning of the column, with its unit.
            pub const fn meaning(self) -> &'static str { match self { $(Self::$item => $meaning),+ } }

            /// Other names that tables give it, in lower case, letters and digits only.
            const fn aliases(self) -> &'static [&'static str] { match self { $(Self::$item => &[$($alias),*]),+ } }
        }
    };
}

columns! {
    Collective = "collective", "the collective, like all_reduce",
        ["coll", "collectivetype", "colltype", "operation", "op", "test", "benchmark", "primitive"];
    NumNodes = "num_nodes", "number of nodes", ["nodes", "nnodes", "nodecount", "numhosts", "hosts", "numservers"];
    NumGpus = "num_gpus", "number of ranks over all nodes, one per GPU",
        ["ranks", "nranks", "numranks", "gpus", "ngpus", "worldsize", "np", "totalgpus", "gpucount"];
    SizeBytes = "size_bytes", "message size in bytes, as nccl-tests prints it",
        ["size", "bytes", "nbytes", "messagesize", "messagebytes", "msgsize", "msgbytes", "sizeb", "messagesizebytes"];
    DataType = "data_type", "the data type, like float", ["datatype", "dtype"];
    Redop = "redop", "the operation, like sum; none where there is none", ["reduction", "reduceop"];
    Library = "library_version", "the version of NCCL or RCCL, which tells builds apart",
        ["ncclversion", "rcclversion", "libraryversion", "library", "libversion", "ncclbuild", "rcclbuild", "build"];
    NodeList = "nodelist", "the names of the nodes, which tell sets of nodes apart; only numbers for them are kept",
        ["nodelist", "hostlist", "hostnames", "hostname", "nodenames", "slurmnodelist", "slurmjobnodelist"];
    TimeOop = "time_oop_us", "out-of-place time in microseconds",
        ["timeoop", "outofplacetime", "outofplacetimeus", "timeoutofplace", "oopus"];
    AlgbwOop = "algbw_oop", "out-of-place algorithm bandwidth in GB/s", ["outofplacealgbw", "algbwoutofplace"];
    BusbwOop = "busbw_oop", "out-of-place bus bandwidth in GB/s", ["outofplacebusbw", "busbwoutofplace"];
    ErrorsOop = "errors_oop", "wrong values out of place; -1 where not checked", ["outofplaceerrors", "wrongoop"];
    TimeIp = "time_ip_us", "in-place time in microseconds",
        ["timeip", "inplacetime", "inplacetimeus", "timeinplace", "timeus", "time", "latencyus", "latency", "usec", "us"];
    AlgbwIp = "algbw_ip", "in-place algorithm bandwidth in GB/s",
        ["inplacealgbw", "algbwinplace", "algbw", "algbwgbps", "algorithmbandwidth"];
    BusbwIp = "busbw_ip", "in-place bus bandwidth in GB/s",
        ["busbw", "inplacebusbw", "busbwinplace", "busbwgbps", "busbandwidth", "busbandwidthgbps", "bandwidthgbps",
         "bandwidth", "bw", "bwgbps", "gbps"];
    ErrorsIp = "errors_ip", "wrong values in place; -1 where not checked", ["errors", "inplaceerrors", "wrong", "wrongip"];
    Algo = "algo", "the algorithm that ran, like RING", ["algorithm", "ncclalgo", "algoname"];
    Proto = "proto", "the protocol that ran, like LL128", ["protocol", "ncclproto", "protoname"];
    Nchannels = "nchannels", "number of channels", ["channels", "nch", "numchannels", "channelcount", "ch", "nchan"];
    RequestedAlgo = "requested_algo", "the algorithm that was asked for; blank in runs of the default", [];
    RequestedProto = "requested_proto", "the protocol that was asked for; blank in runs of the default", [];
    RequestedNchannels = "requested_nchannels", "the channels that were asked for; blank in runs of the default", [];
    Substituted = "substituted", "1 where what ran is not what was asked for", [];
    MeasuredAlgoRaw = "measured_algo_raw", "the algorithm as printed, with its marks", [];
    NchannelsSource = "nchannels_source", "where the number of channels comes from", [];
    NRepeats = "n_repeats", "how many runs the row is the median of", ["nrepeats", "repeats", "numrepeats"];
    SpreadPct = "spread_pct", "(max - min) / median of busbw_ip over those runs, in per cent", ["spread"];
}

/// Every row must have these.
const REQUIRED: [Column; 7] = [
    Column::Collective,
    Column::NumNodes,
    Column::NumGpus,
    Column::SizeBytes,
    Column::Algo,
    Column::Proto,
    Column::Nchannels,
];

/// Every row must have one of these.
const MEASUREMENTS: [Column; 4] = [Column::BusbwIp, Column::TimeIp, Column::BusbwOop, Column::TimeOop];

impl Column {
    /// Nothing can be learnt without it. Of the four columns of time and busbw one suffices: busbw_ip stands for
    /// them here.
    pub fn is_needed(self) -> bool {
        REQUIRED.contains(&self) || self == Self::BusbwIp
    }

    /// The text can stand in this column of every row.
    fn accepts(self, text: &str) -> bool {
        let text = text.trim();
        let is_default = text.eq_ignore_ascii_case("default");
        match self {
            Self::Collective => Collective::parse(text).is_some(),
            Self::Algo => is_default || Algorithm::parse(text.trim_end_matches('*')).is_some(),
            Self::Proto => is_default || Protocol::parse(text).is_some(),
            Self::SizeBytes => text.parse::<Size>().is_ok(),
            Self::Nchannels if is_default => true,
            Self::RequestedAlgo
            | Self::RequestedProto
            | Self::MeasuredAlgoRaw
            | Self::NchannelsSource
            | Self::DataType
            | Self::Redop
            | Self::Library
            | Self::NodeList => true,
            _ => is_missing(text) || number(text).is_some(),
        }
    }

    /// Reads a header in the format's own spelling; case and blanks around it do not matter.
    pub fn parse(header: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| header.trim().eq_ignore_ascii_case(c.name()))
    }

    /// The header that means this column in another spelling or by a common alias: `Message Size (bytes)`.
    pub fn guess(self, headers: &[String]) -> Option<usize> {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let headers: Vec<String> = headers.iter().map(|h| plain(h)).collect();
        let name = plain(self.name());
        std::iter::once(name.as_str())
            .chain(self.aliases().iter().copied())
            .find_map(|alias| headers.iter().position(|header| header == alias))
    }
}

/// Where a mapped column's value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ColumnSource {
    /// The n-th column of the table, from 0.
    Column(usize),
    /// The same text for every row.
    Constant(String),
}

/// Where a table has the columns of a sweep, resolved once for all rows.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    places: [Option<ColumnPosition>; Column::ALL.len()],
    /// Cells of the header: a row must have as many.
    width: usize,
    /// -1 says "the default", as in the measurements of NCCL's tuner example.
    minus_one_is_default: bool,
}

#[derive(Clone, Debug)]
struct ColumnPosition {
    source: ColumnSource,
    header: String,
}

/// A header that is no sweep's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// Needed columns are not there.
    #[error("the table lacks {}; it has {}", list(.missing), list(.found))]
    Missing {
        /// Names of the columns that are missing.
        missing: Vec<String>,
        /// The headers as they stand.
        found: Vec<String>,
    },
    /// One name stands over two columns.
    #[error("two columns are called {0}; rename the one that does not count")]
    Duplicate(String),
    /// A mapping that does not fit the table.
    #[error("{0}")]
    Mapping(String),
}

fn list(names: &[String]) -> String {
    const MAX_SHOWN: usize = 30;
    first_of(MAX_SHOWN, names, |name| excerpt(name))
}

impl Columns {
    /// Finds the columns by the format's own names, in any order, among any others.
    ///
    /// # Errors
    /// A needed column is missing or stands twice.
    pub fn from_headers(headers: &[String]) -> Result<Self, ColumnsError> {
        let mut columns = Self { width: headers.len(), ..Self::default() };
        for (index, header) in headers.iter().enumerate() {
            let Some(column) = Column::parse(header) else { continue };
            let place = &mut columns.places[column as usize];
            if place.is_some() {
                return Err(ColumnsError::Duplicate(column.name().to_owned()));
            }
            *place = Some(ColumnPosition { source: ColumnSource::Column(index), header: header.clone() });
        }
        columns.add_origin(headers);
        columns.checked(headers)
    }

    /// Finds the columns of a measurement CSV of NCCL's tuner example (plugins/tuner/example/scripts):
    /// `collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff`, then
    /// `cost_metric,bandwidth_gbps,latency_us`. `None` where the header is another.
    pub fn tuner_measurements(headers: &[String]) -> Option<Self> {
        const NAMES: [(&str, Column); 9] = [
            ("collective", Column::Collective),
            ("size_bytes", Column::SizeBytes),
            ("algorithm", Column::Algo),
            ("protocol", Column::Proto),
            ("channels", Column::Nchannels),
            ("nodes", Column::NumNodes),
            ("ranks", Column::NumGpus),
            ("bandwidth_gbps", Column::BusbwIp),
            ("latency_us", Column::TimeIp),
        ];
        let at = |name: &str| headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name));
        let mapping: Vec<_> = NAMES
            .iter()
            .filter_map(|(name, column)| Some((column.name().to_owned(), ColumnSource::Column(at(name)?))))
            .collect();
        at("cost_metric").or_else(|| at("pipeOps"))?;
        let mut columns = Self::mapped(headers, &mapping).ok()?;
        columns.add_origin(headers);
        Some(Self { minus_one_is_default: true, ..columns })
    }

    /// The columns that tell builds and nodes apart, and wrong values, are taken in any spelling: a table without them
    /// would be read as though all were alike, or right.
    fn add_origin(&mut self, headers: &[String]) {
        use Column::{DataType, ErrorsIp, ErrorsOop, Library, NodeList, Redop};
        for column in [Library, DataType, Redop, NodeList, ErrorsIp, ErrorsOop] {
            let place = &mut self.places[column as usize];
            if let (None, Some(index)) = (&place, column.guess(headers)) {
                *place = Some(ColumnPosition { source: ColumnSource::Column(index), header: headers[index].clone() });
            }
        }
    }

    /// Whose version [`Column::Library`] is, as far as its header says.
    pub fn library_family(&self) -> &'static str {
        let header = self.header(Column::Library).to_ascii_lowercase();
        match () {
            () if header.contains("rccl") => "RCCL",
            () if header.contains("nccl") => "NCCL",
            () => "",
        }
    }

    /// Whether -1 in a cell stands for the default, as in the measurements of NCCL's tuner example.
    pub fn minus_one_is_default(&self) -> bool {
        self.minus_one_is_default
    }

    /// Takes the columns from where a mapping says they are.
    ///
    /// # Errors
    /// A needed column is missing, a name is no column of a sweep, or the table has no such column.
    pub fn mapped(headers: &[String], mapping: &[(String, ColumnSource)]) -> Result<Self, ColumnsError> {
        let mut columns = Self { width: headers.len(), ..Self::default() };
        for (name, source) in mapping {
            let column = Column::parse(name)
                .ok_or_else(|| ColumnsError::Mapping(format!("{} is no column of a sweep", excerpt(name))))?;
            let header = match source {
                ColumnSource::Constant(text) if !column.accepts(text) => {
                    return Err(ColumnsError::Mapping(format!(
                        "\"{}\" can't stand for {name} ({})",
                        excerpt(text),
                        column.meaning()
                    )));
                }
                ColumnSource::Constant(_) => column.name().to_owned(),
                ColumnSource::Column(index) => headers.get(*index).cloned().ok_or_else(|| {
                    ColumnsError::Mapping(format!(
                        "{name} is taken from column {}, but the table has {} columns",
                        index.saturating_add(1),
                        headers.len()
                    ))
                })?,
            };
            columns.places[column as usize] = Some(ColumnPosition { source: source.clone(), header });
        }
        columns.checked(headers)
    }

    fn checked(self, headers: &[String]) -> Result<Self, ColumnsError> {
        let needs = |column: Column| match column {
            // Rows of the library's default need no protocol and no channels.
            Column::Proto | Column::Nchannels => !self.is_default(),
            _ => true,
        };
        let missing = REQUIRED.iter().filter(|c| needs(**c) && !self.has(**c));
        let mut missing: Vec<String> = missing.map(|c| c.name().to_owned()).collect();
        if !MEASUREMENTS.iter().any(|c| self.has(*c)) {
            missing.push("busbw_ip (or time_ip_us)".to_owned());
        }
        if missing.is_empty() { Ok(self) } else { Err(ColumnsError::Missing { missing, found: headers.to_vec() }) }
    }

    /// All rows are runs of the library's default.
    fn is_default(&self) -> bool {
        let algorithm = self.places[Column::Algo as usize].as_ref().map(|place| &place.source);
        matches!(algorithm, Some(ColumnSource::Constant(text)) if text.trim().eq_ignore_ascii_case("default"))
    }

    /// The table has this column, or a constant for it.
    pub fn has(&self, column: Column) -> bool {
        self.places[column as usize].is_some()
    }

    /// The headers of the columns that are not read, without those that say nothing of how the rows were measured.
    pub fn unused<'a>(&self, headers: &'a [String]) -> Vec<&'a str> {
        const KNOWN: [&str; 5] = ["run_id", "count", "pipeOps", "regBuff", "cost_metric"];
        let is_read = |index| self.places.iter().flatten().any(|place| place.source == ColumnSource::Column(index));
        let unused = headers.iter().enumerate().filter(|(index, _)| !is_read(*index)).map(|(_, header)| header.trim());
        unused
            .filter(|header| !header.is_empty() && !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(header)))
            .collect()
    }

    /// How many cells a row must have.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The last cell of a row is read as this column.
    pub fn reads_last_cell(&self) -> bool {
        self.places.iter().flatten().any(|p| p.source == ColumnSource::Column(self.width.saturating_sub(1)))
    }

    /// The column's name in the header of the table; [`Column::name`] where the table lacks it.
    pub fn header(&self, column: Column) -> &str {
        self.places[column as usize].as_ref().map_or(column.name(), |p| &p.header)
    }

    /// The cell of a column in a record; `None` where the table has no such column.
    pub fn cell<'a>(&'a self, column: Column, record: &crate::text::Record<'a>) -> Option<&'a str> {
        match &self.places[column as usize].as_ref()?.source {
            ColumnSource::Column(index) => record.get(*index),
            ColumnSource::Constant(text) => Some(text.trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn names_in_any_order_and_case() {
        let found = headers("extra,NCHANNELS, proto ,Algo,size_bytes,num_gpus,num_nodes,collective,busbw_ip");
        let columns = Columns::from_headers(&found).expect("all needed columns are there");
        assert!(columns.has(Column::Proto) && !columns.has(Column::TimeIp));
        assert_eq!(columns.width(), 9);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = Columns::from_headers(&headers("collective,num_nodes,num_gpus,size_bytes,algo,proto,bandwidth"));
        assert_eq!(
            error.map(|_| ()).map_err(|e| e.to_string()),
            Err("the table lacks nchannels, busbw_ip (or time_ip_us); it has collective, num_nodes, num_gpus, \
                 size_bytes, algo, proto, bandwidth"
                .to_owned())
        );
        let doubled = headers("collective,num_nodes,num_gpus,size_bytes,algo,proto,nchannels,busbw_ip,Algo");
        assert_eq!(Columns::from_headers(&doubled).err(), Some(ColumnsError::Duplicate("algo".to_owned())));
    }

    #[test]
    fn other_spellings_are_guessed() {
        let found = headers("Operation,Nodes,GPUs,Message Size (bytes),bytes,busBW,Channels,Num Nodes");
        for (column, index) in [
            (Column::Collective, Some(0)),
            (Column::NumNodes, Some(7)),
            (Column::NumGpus, Some(2)),
            (Column::SizeBytes, Some(4)),
            (Column::BusbwIp, Some(5)),
            (Column::Nchannels, Some(6)),
            (Column::Algo, None),
        ] {
            assert_eq!(column.guess(&found), index, "{}", column.name());
        }
    }
}
