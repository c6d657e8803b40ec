//! `workload.xml`: scenarios of flows.

use std::path::{Path, PathBuf};

use crate::Note;
use crate::error::MqsimError;
use crate::section::{Given, Section};
use crate::xml::{self, Element};

/// Flows that run side by side on one drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One entry a flow.
    pub flows: Vec<MqsimFlow>,
}

/// A stream of requests as MQSim describes it. Addresses and sizes are in sectors of 512 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct MqsimFlow {
    /// `Priority_Class`.
    pub priority: MqsimPriority,
    /// `Device_Level_Data_Caching_Mode`.
    pub caching: CachingMode,
    /// `Channel_IDs`, `Chip_IDs`, `Die_IDs` and `Plane_IDs`.
    pub resources: [Vec<u32>; 4],
    /// `Initial_Occupancy_Percentage`.
    pub initial_occupancy_percent: u32,
    /// Where the requests come from.
    pub source: FlowSource,
    /// The line in the file at which the flow begins.
    pub(super) line: usize,
}

/// `Priority_Class` of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MqsimPriority {
    /// Before all others.
    Urgent,
    /// Weight 4.
    High,
    /// Weight 2.
    Medium,
    /// Weight 1.
    Low,
}

/// `Device_Level_Data_Caching_Mode` of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachingMode {
    /// No cache.
    TurnedOff,
    /// Writes are cached.
    WriteCache,
    /// Reads are cached.
    ReadCache,
    /// Both are.
    WriteReadCache,
}

/// Where the requests of a flow come from.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSource {
    /// They are drawn.
    Synthetic(Synthetic),
    /// They are in a file.
    Trace(TraceFile),
}

/// `IO_Flow_Parameter_Set_Synthetic`.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// `Working_Set_Percentage`: share of the flow's addresses that requests go to.
    pub working_set_percent: u32,
    /// `Synthetic_Generator_Type`, with what belongs to it.
    pub arrivals: Arrivals,
    /// `Read_Percentage`.
    pub read_percent: u32,
    /// `Address_Distribution`, with what belongs to it.
    pub addresses: Addresses,
    /// `Address_Alignment_Unit`, in sectors, if `Generated_Aligned_Addresses`.
    pub alignment: Option<u32>,
    /// `Average_Request_Size`, in sectors.
    pub request_sectors: u32,
    /// `Variance_Request_Size`, which MQSim takes as a standard deviation, if sizes are NORMAL.
    pub deviation_sectors: Option<u32>,
    /// `Seed`.
    pub seed: u32,
    /// `Stop_Time` in nanoseconds, if it is not 0.
    pub stop_ns: Option<u64>,
    /// `Total_Requests_To_Generate`, which counts if there is no stop time.
    pub requests: u64,
}

/// `Synthetic_Generator_Type`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A closed loop with so many requests outstanding.
    QueueDepth(u32),
    /// Exponential gaps, on average so many nanoseconds.
    MeanGap(f64),
}

/// `Address_Distribution`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Addresses {
    /// One after another.
    Streaming,
    /// Uniformly over the working set.
    Uniform,
    /// This share of the working set takes the rest of the traffic.
    HotCold(f64),
}

/// `IO_Flow_Parameter_Set_Trace_Based`.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// The file, where it was found.
    pub path: PathBuf,
    /// `Percentage_To_Be_Executed`, which counts if the trace is replayed once.
    pub percent: u32,
    /// `Relay_Count`.
    pub replays: u32,
}

/// Reads the scenarios of the file at `path`.
///
/// # Errors
/// A file that cannot be read, or anything in it that is not as MQSim's files are.
pub(super) fn read(path: &Path, notes: &mut Vec<Note>) -> Result<Vec<Scenario>, MqsimError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| MqsimError::unreadable(path, &error))?;
    let root = xml::parse(&text, path)?;
    scenarios(path, &root, notes)
}

fn scenarios(
    file: &Path,
    root: &Element,
    notes: &mut Vec<Note>,
) -> Result<Vec<Scenario>, MqsimError> {
    if root.name != "MQSim_IO_Scenarios" {
        let what = format!("<{}> must be <MQSim_IO_Scenarios>", root.name);
        return Err(MqsimError::at(file, root.line, what));
    }
    let section = Section::new(file, root);
    let scenarios = section.all(&["IO_Scenario"]);
    section.finish()?;
    if scenarios.is_empty() {
        let what = "<MQSim_IO_Scenarios> has no IO_Scenario";
        return Err(MqsimError::at(file, root.line, what));
    }
    scenarios
        .into_iter()
        .map(|scenario| one_scenario(file, scenario, notes))
        .collect()
}

fn one_scenario(
    file: &Path,
    element: &Element,
    notes: &mut Vec<Note>,
) -> Result<Scenario, MqsimError> {
    const SYNTHETIC: &str = "IO_Flow_Parameter_Set_Synthetic";
    let section = Section::new(file, element);
    let flows = section.all(&[SYNTHETIC, "IO_Flow_Parameter_Set_Trace_Based"]);
    section.finish()?;
    if flows.is_empty() {
        return Err(MqsimError::at(
            file,
            element.line,
            "<IO_Scenario> has no flow",
        ));
    }
    let mut flow = |element: &Element| {
        let section = Section::new(file, element);
        let source = if element.name == SYNTHETIC {
            FlowSource::Synthetic(synthetic(&section, notes)?)
        } else {
            FlowSource::Trace(trace(&section, notes)?)
        };
        let flow = common(&section, source)?;
        section.finish()?;
        Ok(flow)
    };
    let flows = flows.into_iter().map(&mut flow).collect::<Result<_, _>>()?;
    Ok(Scenario { flows })
}

fn common(section: &Section<'_>, source: FlowSource) -> Result<MqsimFlow, MqsimError> {
    let priority = section.given(&["Priority_Class"])?.one_of(&[
        ("URGENT", MqsimPriority::Urgent),
        ("HIGH", MqsimPriority::High),
        ("MEDIUM", MqsimPriority::Medium),
        ("LOW", MqsimPriority::Low),
    ])?;
    let caching = section
        .given(&["Device_Level_Data_Caching_Mode"])?
        .one_of(&[
            ("TURNED_OFF", CachingMode::TurnedOff),
            ("WRITE_CACHE", CachingMode::WriteCache),
            ("READ_CACHE", CachingMode::ReadCache),
            ("WRITE_READ_CACHE", CachingMode::WriteReadCache),
        ])?;
    let ids = |name| numbers(&section.given(&[name])?);
    Ok(MqsimFlow {
        priority,
        caching,
        resources: [
            ids("Channel_IDs")?,
            ids("Chip_IDs")?,
            ids("Die_IDs")?,
            ids("Plane_IDs")?,
        ],
        initial_occupancy_percent: section
            .given(&["Initial_Occupancy_Percentage"])?
            .number(0..=100)?,
        source,
        line: section.element.line,
    })
}

/// A list such as `0,1,2`, in ascending order and without repetitions, as MQSim takes it.
fn numbers(given: &Given<'_>) -> Result<Vec<u32>, MqsimError> {
    let mut ids = given
        .text()
        .split(',')
        .map(|id| id.trim().parse().ok())
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(|| given.refused("it must be numbers with commas between them"))?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn synthetic(section: &Section<'_>, notes: &mut Vec<Note>) -> Result<Synthetic, MqsimError> {
    let working_set_percent = section
        .given(&["Working_Set_Percentage"])?
        .number(1..=100)?;
    let request_sectors = section
        .given(&["Average_Request_Size"])?
        .number(1..=65_535)?;
    let aligned = section.given(&["Generated_Aligned_Addresses"])?.flag()?;
    let unit = section
        .given(&["Address_Alignment_Unit"])?
        .number(1..=1 << 20)?;
    let normal = section
        .given(&["Request_Size_Distribution"])?
        .one_of(&[("FIXED", false), ("NORMAL", true)])?;
    let deviation = section
        .given(&["Variance_Request_Size"])?
        .number(0..=65_535)?;
    let stop_ns = section.given(&["Stop_Time"])?.number(0..=u64::MAX / 1000)?;
    Ok(Synthetic {
        working_set_percent,
        arrivals: arrivals(section, request_sectors, notes)?,
        read_percent: section.given(&["Read_Percentage"])?.number(0..=100)?,
        addresses: addresses(section)?,
        alignment: aligned.then_some(unit),
        request_sectors,
        deviation_sectors: normal.then_some(deviation),
        seed: section.given(&["Seed"])?.number(0..=i32::MAX as u32)?,
        stop_ns: (stop_ns > 0).then_some(stop_ns),
        requests: section
            .given(&["Total_Requests_To_Generate"])?
            .number(0..=u64::from(u32::MAX))?,
    })
}

fn arrivals(
    section: &Section<'_>,
    request_sectors: u32,
    notes: &mut Vec<Note>,
) -> Result<Arrivals, MqsimError> {
    let kind = section.given(&["Synthetic_Generator_Type"])?;
    let by_bandwidth = kind.one_of(&[("QUEUE_DEPTH", false), ("BANDWIDTH", true)])?;
    let depth = section
        .given(&["Average_No_of_Reqs_in_Queue"])?
        .number(1..=65_535)?;
    if let Some(intensity) = section.optional(&["Intensity"])? {
        notes.push(intensity.note("is not read by MQSim either"));
    }
    let bandwidth = section.optional(&["Bandwidth"])?;
    if !by_bandwidth {
        return Ok(Arrivals::QueueDepth(depth));
    }
    let Some(bandwidth) = bandwidth else {
        return Err(kind.refused("with it the key Bandwidth, in bytes per second, must be given"));
    };
    // All of MQSim's divisions here are of whole numbers.
    let per_second = bandwidth.number(1..=u64::from(u32::MAX))? / 512 / u64::from(request_sectors);
    if per_second == 0 {
        return Err(bandwidth.refused("it must be enough for a request a second"));
    }
    Ok(Arrivals::MeanGap((1_000_000_000 / per_second) as f64))
}

fn addresses(section: &Section<'_>) -> Result<Addresses, MqsimError> {
    let hot = section
        .given(&["Percentage_of_Hot_Region"])?
        .number(0..=100)?;
    section.given(&["Address_Distribution"])?.one_of(&[
        ("STREAMING", Addresses::Streaming),
        ("RANDOM_UNIFORM", Addresses::Uniform),
        ("RANDOM_HOTCOLD", Addresses::HotCold(f64::from(hot) / 100.0)),
    ])
}

fn trace(section: &Section<'_>, notes: &mut Vec<Note>) -> Result<TraceFile, MqsimError> {
    let path = section.given(&["File_Path"])?;
    let unit = section.given(&["Time_Unit"])?;
    let nanoseconds = unit.one_of(&[
        ("PICOSECOND", false),
        ("NANOSECOND", true),
        ("MICROSECOND", false),
    ])?;
    if !nanoseconds {
        notes.push(
            unit.note("is not read by MQSim, which takes times for nanoseconds, as does this"),
        );
    }
    Ok(TraceFile {
        percent: section
            .given(&["Percentage_To_Be_Executed"])?
            .number(1..=100)?,
        replays: section.given(&["Relay_Count"])?.number(1..=u32::MAX)?,
        path: find_trace(section.file, path.text()).ok_or_else(|| {
            path.refused("there is no such file beside the workload file or in a folder above it")
        })?,
    })
}

/// The trace that the file at `workload` names: beside it, then in the folders above it.
fn find_trace(workload: &Path, named: &str) -> Option<PathBuf> {
    // A path that was written on another system.
    let named = PathBuf::from(named.replace('\\', "/"));
    let folder = workload.parent()?;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder
        .ancestors()
        .map(|above| above.join(&named))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "<IO_Flow_Parameter_Set_Synthetic>
<Priority_Class>HIGH</Priority_Class>
<Device_Level_Data_Caching_Mode>TURNED_OFF</Device_Level_Data_Caching_Mode>
<Channel_IDs>1,0,1</Channel_IDs><Chip_IDs>0</Chip_IDs><Die_IDs>0</Die_IDs><Plane_IDs>0,1</Plane_IDs>
<Initial_Occupancy_Percentage>75</Initial_Occupancy_Percentage>
<Working_Set_Percentage>50</Working_Set_Percentage>
<Synthetic_Generator_Type>QUEUE_DEPTH</Synthetic_Generator_Type>
<Read_Percentage>70</Read_Percentage>
<Address_Distribution>RANDOM_HOTCOLD</Address_Distribution>
<Percentage_of_Hot_Region>20</Percentage_of_Hot_Region>
<Generated_Aligned_Addresses>true</Generated_Aligned_Addresses>
<Address_Alignment_Unit>16</Address_Alignment_Unit>
<Request_Size_Distribution>FIXED</Request_Size_Distribution>
<Average_Request_Size>8</Average_Request_Size>
<Variance_Request_Size>0</Variance_Request_Size>
<Seed>798</Seed>
<Average_No_of_Reqs_in_Queue>16</Average_No_of_Reqs_in_Queue>
<Intensity>32768</Intensity>
<Stop_Time>0</Stop_Time>
<Total_Requests_To_Generate>100</Total_Requests_To_Generate>
</IO_Flow_Parameter_Set_Synthetic>";

    fn imported(flows: &str) -> Result<(Vec<Scenario>, Vec<Note>), MqsimError> {
        let file = Path::new("w.xml");
        let text =
            format!("<MQSim_IO_Scenarios><IO_Scenario>{flows}</IO_Scenario></MQSim_IO_Scenarios>");
        let mut notes = Vec::new();
        let root = xml::parse(&text, file)?;
        Ok((scenarios(file, &root, &mut notes)?, notes))
    }

    fn error_of(flows: &str) -> String {
        imported(flows).map_or_else(|error| error.to_string(), |found| panic!("{found:?}"))
    }

    #[test]
    fn a_synthetic_flow_has_every_key_that_the_file_gives() {
        let (scenarios, notes) = imported(&format!("{FLOW}{FLOW}")).expect("two flows");
        let flows = &scenarios[0].flows;
        assert_eq!((scenarios.len(), flows.len()), (1, 2));
        assert_eq!(flows[0].resources[0], [0, 1]);
        let FlowSource::Synthetic(synthetic) = &flows[0].source else {
            panic!("{:?} is no synthetic flow", flows[0].source);
        };
        assert_eq!(synthetic.arrivals, Arrivals::QueueDepth(16));
        assert_eq!(synthetic.addresses, Addresses::HotCold(0.2));
        assert_eq!(synthetic.alignment, Some(16));
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].to_string().contains("Intensity"), "{}", notes[0]);
    }

    #[test]
    fn a_bandwidth_is_a_mean_gap() {
        let flow = FLOW
            .replace(">QUEUE_DEPTH<", ">bandwidth<")
            .replace("Intensity>", "Bandwidth>")
            .replace("32768", "4194304");
        let (scenarios, _) = imported(&flow).expect("a flow");
        let FlowSource::Synthetic(synthetic) = &scenarios[0].flows[0].source else {
            panic!("no synthetic flow");
        };
        assert_eq!(synthetic.arrivals, Arrivals::MeanGap(976_562.0));
        let without = FLOW.replace(">QUEUE_DEPTH<", ">BANDWIDTH<");
        assert_eq!(
            error_of(&without),
            "w.xml:7: Synthetic_Generator_Type = \"BANDWIDTH\" cannot be: \
             with it the key Bandwidth, in bytes per second, must be given"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert_eq!(
            error_of(&FLOW.replace("Read_Percentage", "Read_Percent")),
            "w.xml:1: <IO_Flow_Parameter_Set_Synthetic> lacks the key Read_Percentage; \
             is Read_Percent in line 8 meant?"
        );
        assert_eq!(
            error_of(&FLOW.replace("<Seed>", "<Sead>1</Sead><Seed>")),
            "w.xml:16: <IO_Flow_Parameter_Set_Synthetic> has no key Sead; did you mean Seed?"
        );
        assert_eq!(
            error_of(&FLOW.replace(">70<", ">170<")),
            "w.xml:8: Read_Percentage = \"170\" cannot be: it must be a number from 0 to 100"
        );
        assert_eq!(
            error_of(&FLOW.replace("0,1</Plane", "0;1</Plane")),
            "w.xml:4: Plane_IDs = \"0;1\" cannot be: it must be numbers with commas between them"
        );
        assert_eq!(
            error_of(&FLOW.replace("<Seed>", "<Seed>1</Seed><Seed>")),
            "w.xml:16: <Seed> is given again; the first is in line 16"
        );
        assert_eq!(error_of(""), "w.xml:1: <IO_Scenario> has no flow");
    }
}
