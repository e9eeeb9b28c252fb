// SPDX-License-Identifier: Apache-2.0

package storetest

import "sync"

func (f *fixture) startProcess() *process {
	f.Helper()
	p := &process{cmd: f.Process(f.T, f.medium)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	f.check(err)
	p.out = out
	f.check(p.cmd.Start())
	return p
}

// runProcesses runs concurrent processes; killAt returns when to kill each.
func (f *fixture) runProcesses(n int, killAt func(i int) int) (ranges *Ledger, counts []int64) {
	ranges = &Ledger{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		p, at := f.startProcess(), killAt(i)
		group.Go(func() {
			lines, err := p.readLines(at)
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
