// SPDX-License-Identifier: Apache-2.0

package base

// Metrics is how a base does.
type Metrics struct {
	Bytes, Tables, Memory              int64 // on disk, in files; not on the disk yet
	CacheBytes, CacheHits, CacheMisses int64
	Compactions, CompactBytes          int64 // made; estimated work that compactions are behind
}

// Metrics returns how the base does, zeros if it is closed or has failed.
func (b *Base) Metrics() (m Metrics) {
	if b.fs.sealed() || !b.gate.Enter() {
		return m
	}
	defer b.gate.Leave()
	p := b.db.Metrics()
	total := p.Total()
	m.Bytes, m.Tables, m.Memory = int64(p.DiskSpaceUsage()), total.TablesCount, int64(p.MemTable.Size)
	m.CacheBytes, m.CacheHits, m.CacheMisses = p.BlockCache.Size+b.rows.size(), p.BlockCache.Hits, p.BlockCache.Misses
	m.Compactions, m.CompactBytes = p.Compact.Count, int64(p.Compact.EstimatedDebt)
	return m
}
