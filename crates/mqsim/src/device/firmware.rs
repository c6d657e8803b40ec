//! The data cache, the mapping table and the collection of garbage.

use super::import::{Import, only};
use crate::error::MqsimError;
use crate::section::Section;

impl Import<'_> {
    pub(super) fn cache(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        if let Some(sharing) = device.optional(&["Data_Cache_Sharing_Mode"])? {
            self.divided.cache =
                sharing.one_of(&[("SHARED", false), ("EQUAL_PARTITIONING", true)])?;
        }
        let page: u64 = self.page_bytes;
        let capacity = device.given(&["Data_Cache_Capacity"])?;
        let bytes: u64 = capacity.number(0..=1 << 40)?;
        self.set_checked(&capacity, "cache.capacity_bytes", bytes.max(page) as i64)?;
        self.set_checked(&capacity, "cache.write_back", "hot_cold")?;
        self.set_checked(&capacity, "cache.capacitor", false)?;
        self.set_checked(&capacity, "cache.back_pressure_pages", self.planes)?;
        let burst = [
            "Data_Cache_DRAM_Data_Busrt_Size",
            "Data_Cache_DRAM_Data_Burst_Size",
        ];
        let keys: [(&[&str], _); 6] = [
            (&["Data_Cache_DRAM_Row_Size"], "dram.row_bytes"),
            (&["Data_Cache_DRAM_Data_Rate"], "dram.clock_megahertz"),
            (&burst, "dram.transfer_bytes"),
            (&["Data_Cache_DRAM_tRCD"], "dram.t_rcd_ns"),
            (&["Data_Cache_DRAM_tCL"], "dram.t_cl_ns"),
            (&["Data_Cache_DRAM_tRP"], "dram.t_rp_ns"),
        ];
        for (names, key) in keys {
            let given = device.given(names)?;
            let number: i64 = given.number(0..=1 << 30)?;
            self.set_checked(&given, key, number)?;
        }
        Ok(())
    }

    pub(super) fn mapping(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        only(device, "Address_Mapping", "PAGE_LEVEL")?;
        let ideal = device.given(&["Ideal_Mapping_Table"])?.flag()?;
        let capacity = device.given(&["CMT_Capacity"])?;
        let bytes: u32 = capacity.number(0..=u32::MAX)?;
        // As MQSim has them: an entry of the cache names two pages and has a bit for each sector,
        // one of a mapping page names one.
        let (bits, sectors) = ((self.pages as f64).log2(), (self.page_bytes / 512) as f64);
        let cached = ((2.0 * bits + sectors) / 8.0).ceil() as u32;
        let stored = ((bits + sectors) / 8.0).ceil() as u32;
        let entries = (bytes / cached).max(1);
        let kind = if ideal { "ideal" } else { "cached" };
        self.set_checked(
            &device.given(&["Ideal_Mapping_Table"])?,
            "ftl.mapping.kind",
            kind,
        )?;
        self.set_checked(&capacity, "ftl.mapping.cache_entries", entries)?;
        self.set_checked(&capacity, "ftl.mapping.entry_bytes", stored)?;
        self.set_checked(&capacity, "ftl.mapping.fetch_bytes", 512)?;
        if let Some(sharing) = device.optional(&["CMT_Sharing_Mode"])? {
            let divided = sharing.one_of(&[
                ("SHARED", false),
                ("EQUAL_PARTITIONING", true),
                ("EQUAL_SIZE_PARTITIONING", true),
            ])?;
            self.divided.mapping = divided && !ideal;
        }
        let scheme = device.given(&["Plane_Allocation_Scheme"])?;
        self.set("ftl.plane_allocation", scheme.text().to_uppercase());
        Ok(())
    }

    pub(super) fn collection(&mut self, device: &Section<'_>) -> Result<(), MqsimError> {
        let policy = device.given(&["GC_Block_Selection_Policy"])?;
        // RANDOM may take a block that is not full, which gains less; RANDOM_PP has no counterpart.
        let name = policy.one_of(&[
            ("GREEDY", "greedy"),
            ("RGA", "rga"),
            ("FIFO", "fifo"),
            ("RANDOM", "random"),
            ("RANDOM_P", "random"),
        ])?;
        if policy.text().eq_ignore_ascii_case("RANDOM") {
            self.note(&policy, "takes full blocks only here, as RANDOM_P does");
        }
        self.set_checked(&policy, "ftl.gc.policy", name)?;
        let copyback = device.given(&["Use_Copyback_for_GC"])?;
        let flag = copyback.flag()?;
        if flag {
            self.note(&copyback, "ends MQSim with an error; it works here");
        }
        self.set_checked(&copyback, "ftl.gc.copyback", flag)?;
        let preemptible = device.given(&["Preemptible_GC_Enabled"])?;
        let flag = preemptible.flag()?;
        self.set_checked(&preemptible, "ftl.gc.preemptible", flag)?;
        let hard = device.given(&["GC_Hard_Threshold"])?;
        let hard_share: f64 = hard.number(0.0..=1.0)?;
        let hard_blocks = (hard_share * f64::from(self.blocks_per_plane)) as u32;
        let start = device.given(&["GC_Exec_Threshold"])?;
        let share: f64 = start.number(0.0..=1.0)?;
        let threshold = ((share * f64::from(self.blocks_per_plane)) as u32).max(10);
        self.set("ftl.gc.threshold_blocks", threshold);
        self.set_checked(&hard, "ftl.gc.hard_threshold_blocks", 10.min(threshold - 1))?;
        let urgent: u32 = hard_blocks.clamp(1, threshold);
        self.set_checked(&hard, "ftl.gc.urgent_threshold_blocks", urgent)?;
        self.set_checked(&start, "compatibility.frontiers", "ahead")?;
        self.set_checked(&start, "compatibility.gc_pace", "per_block")?;
        self.set_checked(&start, "ftl.gc.concurrent_blocks", 10)?;
        self.set_checked(&start, "ftl.gc.concurrent_copies", self.pages_per_block)?;
        let dynamic = device.given(&["Dynamic_Wearleveling_Enabled"])?;
        let flag = dynamic.flag()?;
        self.set_checked(&dynamic, "ftl.wear_levelling.dynamic", flag)?;
        let level = device.given(&["Static_Wearleveling_Enabled"])?;
        let behind = device.optional(&["Static_Wearleveling_Threshold"])?;
        let behind: u32 = behind.map_or(Ok(100), |given| given.number(1..=1 << 30))?;
        let behind = if level.flag()? { behind } else { 0 };
        self.set_checked(&level, "ftl.wear_levelling.static_threshold", behind)?;
        self.set_checked(&level, "compatibility.static_rule", "numbers")?;
        if behind > 0 {
            let reason = "compares block numbers in MQSim, not erases, and here: it empties the first block of a plane once";
            self.note(&level, reason);
        }
        Ok(())
    }
}
