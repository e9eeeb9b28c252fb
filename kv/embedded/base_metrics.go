// SPDX-License-Identifier: Apache-2.0

package embedded

// baseMetrics is how a base does.
type baseMetrics struct {
	bytes, tables, memory              int64 // on disk, in files; not on the disk yet
	cacheBytes, cacheHits, cacheMisses int64
	compactions, compactBytes          int64 // made; estimated work that compactions are behind
}

// measure returns how the base does, zeros if it is closed or has failed.
func (b *base) measure() (m baseMetrics) {
	if b.fs.sealed() || !b.gate.Enter() {
		return m
	}
	defer b.gate.Leave()
	p := b.db.Metrics()
	total := p.Total()
	m.bytes, m.tables, m.memory = int64(p.DiskSpaceUsage()), total.TablesCount, int64(p.MemTable.Size)
	m.cacheBytes, m.cacheHits, m.cacheMisses = p.BlockCache.Size+b.rows.size(), p.BlockCache.Hits, p.BlockCache.Misses
	m.compactions, m.compactBytes = p.Compact.Count, int64(p.Compact.EstimatedDebt)
	return m
}
