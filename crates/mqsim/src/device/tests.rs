//! Drives of XML text.

use super::*;
use crate::{FlowSource, MqsimFlow, TraceFile};
use bitline::inside::InsideConfig;

const DRIVE: &str = "<Execution_Parameter_Set>
<Host_Parameter_Set>
<PCIe_Lane_Bandwidth>1.00000</PCIe_Lane_Bandwidth><PCIe_Lane_Count>4</PCIe_Lane_Count>
</Host_Parameter_Set>
<Device_Parameter_Set>
<Seed>321</Seed><Enabled_Preconditioning>true</Enabled_Preconditioning>
<Memory_Type>FLASH</Memory_Type><HostInterface_Type>NVME</HostInterface_Type>
<IO_Queue_Depth>1024</IO_Queue_Depth><Queue_Fetch_Size>512</Queue_Fetch_Size>
<Caching_Mechanism>ADVANCED</Caching_Mechanism><Data_Cache_Capacity>268435456</Data_Cache_Capacity>
<Data_Cache_DRAM_Row_Size>8192</Data_Cache_DRAM_Row_Size>
<Data_Cache_DRAM_Data_Rate>100</Data_Cache_DRAM_Data_Rate>
<Data_Cache_DRAM_Data_Busrt_Size>1</Data_Cache_DRAM_Data_Busrt_Size>
<Data_Cache_DRAM_tRCD>13</Data_Cache_DRAM_tRCD><Data_Cache_DRAM_tCL>13</Data_Cache_DRAM_tCL>
<Data_Cache_DRAM_tRP>13</Data_Cache_DRAM_tRP>
<Address_Mapping>PAGE_LEVEL</Address_Mapping><Ideal_Mapping_Table>true</Ideal_Mapping_Table>
<CMT_Capacity>2097152</CMT_Capacity><Plane_Allocation_Scheme>cwpd</Plane_Allocation_Scheme>
<Transaction_Scheduling_Policy>OUT_OF_ORDER</Transaction_Scheduling_Policy>
<Overprovisioning_Ratio>0.2</Overprovisioning_Ratio><GC_Exec_Threshold>0.05</GC_Exec_Threshold>
<GC_Block_Selection_Policy>GREEDY</GC_Block_Selection_Policy>
<Use_Copyback_for_GC>false</Use_Copyback_for_GC><Preemptible_GC_Enabled>true</Preemptible_GC_Enabled>
<GC_Hard_Threshold>0.005</GC_Hard_Threshold>
<Dynamic_Wearleveling_Enabled>true</Dynamic_Wearleveling_Enabled>
<Static_Wearleveling_Enabled>true</Static_Wearleveling_Enabled>
<Prefered_suspend_erase_time_for_read>700000</Prefered_suspend_erase_time_for_read>
<Flash_Channel_Count>2</Flash_Channel_Count><Flash_Channel_Width>1</Flash_Channel_Width>
<Channel_Transfer_Rate>333</Channel_Transfer_Rate><Chip_No_Per_Channel>1</Chip_No_Per_Channel>
<Flash_Comm_Protocol>NVDDR2</Flash_Comm_Protocol>
<Flash_Parameter_Set>
<Flash_Technology>MLC</Flash_Technology><CMD_Suspension_Support>ERASE</CMD_Suspension_Support>
<Page_Read_Latency_LSB>40000</Page_Read_Latency_LSB><Page_Read_Latency_CSB>50000</Page_Read_Latency_CSB>
<Page_Read_Latency_MSB>60000</Page_Read_Latency_MSB>
<Page_Program_Latency_LSB>400000</Page_Program_Latency_LSB>
<Page_Program_Latency_CSB>500000</Page_Program_Latency_CSB>
<Page_Program_Latency_MSB>600000</Page_Program_Latency_MSB>
<Block_Erase_Latency>3800000</Block_Erase_Latency>
<Die_No_Per_Chip>1</Die_No_Per_Chip><Plane_No_Per_Die>2</Plane_No_Per_Die>
<Block_No_Per_Plane>256</Block_No_Per_Plane><Page_No_Per_Block>128</Page_No_Per_Block>
<Page_Capacity>8192</Page_Capacity><Page_Metadat_Capacity>448</Page_Metadat_Capacity>
</Flash_Parameter_Set>
</Device_Parameter_Set>
</Execution_Parameter_Set>";

fn imported(text: &str) -> Result<(MqsimDevice, Vec<Note>), MqsimError> {
    let file = Path::new("d.xml");
    let mut notes = Vec::new();
    let root = xml::parse(text, file)?;
    Ok((device(file, &root, &mut notes)?, notes))
}

fn error_of(text: &str) -> String {
    imported(text).map_or_else(|error| error.to_string(), |found| panic!("{found:?}"))
}

fn scenario(channels: &[u32], caching: CachingMode) -> Scenario {
    let trace = TraceFile {
        path: "t".into(),
        percent: 100,
        replays: 1,
    };
    let flow = MqsimFlow {
        priority: MqsimPriority::High,
        caching,
        resources: [channels.to_vec(), vec![0], vec![0], vec![0, 1]],
        initial_occupancy_percent: 0,
        source: FlowSource::Trace(trace),
        line: 7,
    };
    Scenario { flows: vec![flow] }
}

#[test]
fn a_drive_becomes_a_configuration() {
    let (device, notes) = imported(DRIVE).expect("a drive");
    let scenario = scenario(&[0, 1], CachingMode::TurnedOff);
    let config = device.config(Path::new("w.xml"), &scenario);
    let config = config.expect("a configuration");
    let geometry = &config.device().nand.geometry;
    assert_eq!((geometry.channels, geometry.planes_per_die), (2, 2));
    assert_eq!(geometry.pages_per_block(config.device().ftl.mode), 128);
    assert_eq!(config.device().ftl.overprovisioning, 0.2);
    assert_eq!(config.device().ftl.gc.threshold_blocks, 12);
    assert_eq!(config.seed, 321);
    assert!((config.device().channel.megabytes_per_second - 1000.0 / 3.0).abs() < 1e-9);
    let told: Vec<_> = notes.iter().map(ToString::to_string).collect();
    for key in ["Channel_Transfer_Rate = 333", "Static_Wearleveling_Enabled"] {
        assert!(
            told.iter().any(|note| note.contains(key)),
            "{key}: {told:?}"
        );
    }
}

#[test]
fn what_this_drive_cannot_do_is_refused() {
    let (device, _) = imported(DRIVE).expect("a drive");
    let some = device.config(Path::new("w.xml"), &scenario(&[1], CachingMode::TurnedOff));
    assert_eq!(
        some.map_err(|error| error.to_string())
            .expect_err("one channel of two"),
        "w.xml:7: Channel_IDs = [1] does not name all 2: flows share all planes of this drive"
    );
    assert_eq!(
        error_of(&DRIVE.replace(">NVME<", ">SATA<")),
        "d.xml:7: HostInterface_Type = \"SATA\" cannot be: it must be NVME"
    );
    assert_eq!(
        error_of(&DRIVE.replace(">128<", ">1<")),
        "d.xml:37: Page_No_Per_Block = \"1\" cannot be: with 2 bits a cell, it must be a product of 2, up to 256 strings and up to 64 cells"
    );
}

#[test]
fn keys_that_are_wrong_are_told_with_their_lines() {
    assert_eq!(
        error_of(&DRIVE.replace("Page_Capacity", "Page_Capacitie")),
        "d.xml:28: <Flash_Parameter_Set> lacks the key Page_Capacity; \
         is Page_Capacitie in line 38 meant?"
    );
    assert_eq!(
        error_of(&DRIVE.replace("<Seed>", "<Sed>1</Sed><Seed>")),
        "d.xml:5: <Device_Parameter_Set> has no key Sed; did you mean Seed?".replace(":5:", ":6:")
    );
    assert_eq!(
        error_of(&DRIVE.replace(">CWPD<", ">1<").replace(">4<", ">four<")),
        "d.xml:3: PCIe_Lane_Count = \"four\" cannot be: it must be a number from 1 to 64"
    );
}

#[test]
fn rates_that_do_not_divide_1000_behave_as_in_mqsim() {
    for (rate, megabytes) in [
        ("800", 1000.0),
        ("200", 200.0),
        ("400", 500.0),
        ("2000", 1e6),
    ] {
        let text = DRIVE.replace(">333<", &format!(">{rate}<"));
        let (device, notes) = imported(&text).expect("a drive");
        let scenario = scenario(&[0, 1], CachingMode::TurnedOff);
        let config = device.config(Path::new("w.xml"), &scenario);
        let found = config
            .expect("a configuration")
            .device()
            .channel
            .megabytes_per_second;
        assert_eq!(found, megabytes, "{rate}");
        let noted = notes.iter().any(|note| note.what.contains(rate));
        assert_eq!(noted, rate != "200", "{rate}: {notes:?}");
    }
}

#[test]
fn what_flows_do_not_share_is_refused() {
    let (device, _) = imported(DRIVE).expect("a drive");
    let mut two = scenario(&[0, 1], CachingMode::WriteCache);
    two.flows
        .extend(scenario(&[0, 1], CachingMode::TurnedOff).flows);
    let mixed = device.config(Path::new("w.xml"), &two);
    assert_eq!(
        mixed
            .map_err(|error| error.to_string())
            .expect_err("one cache"),
        "w.xml:7: Device_Level_Data_Caching_Mode must be the same for all flows of a scenario; \
         that of the flow in line 7 is another"
    );
    two.flows[1].caching = CachingMode::WriteCache;
    let sharing = "<Data_Cache_Sharing_Mode>EQUAL_PARTITIONING</Data_Cache_Sharing_Mode><Seed>";
    let (device, _) = imported(&DRIVE.replace("<Seed>", sharing)).expect("a drive");
    let divided = device.config(Path::new("w.xml"), &two);
    assert_eq!(
        divided
            .map_err(|error| error.to_string())
            .expect_err("one cache"),
        "d.xml: Data_Cache_Sharing_Mode must be SHARED for a scenario of several flows"
    );
    two.flows.pop();
    assert!(device.config(Path::new("w.xml"), &two).is_ok(), "one flow");
}

#[test]
fn a_block_of_tlc_cells_has_a_few_pages_less_if_it_must() {
    let text = DRIVE.replace(">MLC<", ">TLC<");
    let (device, notes) = imported(&text).expect("a drive");
    let config = device.config(
        Path::new("w.xml"),
        &scenario(&[0, 1], CachingMode::TurnedOff),
    );
    let config = config.expect("a configuration");
    let geometry = &config.device().nand.geometry;
    assert_eq!(geometry.pages_per_block(config.device().ftl.mode), 126);
    let told = notes.iter().any(|note| note.what.contains("is 126 here"));
    assert!(told, "{notes:?}");
    // What the host has is what it has in MQSim, 0.8 of all.
    let exported = 1.0 - config.device().ftl.overprovisioning;
    assert!((exported * 126.0 - 0.8 * 128.0).abs() < 1e-6, "{exported}");
}
