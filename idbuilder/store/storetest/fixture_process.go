// SPDX-License-Identifier: Apache-2.0

package storetest

import "sync"

func (f *fixture) start() *process {
	f.Helper()
	p := &process{cmd: f.Process(f.T, f.medium)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	f.no(err)
	p.out = out
	f.no(p.cmd.Start())
	return p
}

// run lets processes work at once; killAt returns when to kill each.
func (f *fixture) run(n int, killAt func(i int) int) (ranges *Ledger, counts []int64) {
	ranges = &Ledger{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		p, at := f.start(), killAt(i)
		group.Go(func() {
			lines, err := p.read(at)
			if err != nil {
				f.Errorf("process %d: %v", i, err)
			}
			for _, line := range lines {
				if line.Count == 0 {
					ranges.Add(line.Range)
					continue
				}
				mu.Lock()
				counts = append(counts, line.Count)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return ranges, counts
}
