"""The results of papers, measured anew on simulated drives and held against what was published.

`bitline.repro.flash_cosmos` is Flash-Cosmos (MICRO 2022), `bitline.repro.anvil` is ANVIL (ISCA 2025),
`bitline.repro.txisc` is TxISC (DATE 2025).
Published numbers are read from the data files beside the code of a paper, to be compared with; nothing
that is simulated takes them as input.
"""
