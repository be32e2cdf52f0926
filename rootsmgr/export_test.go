package rootsmgr

// NewSnapshotUnder is the canonical intersection by itself.
func NewSnapshotUnder(fsys FS, top *Snapshot, entries ...Entry) *Snapshot {
	return newSnapshot(fsys, 1, OriginConfig, entries, top, nil)
}
