// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// Profiler writes CPU profiles of the first entrant's rounds to a folder, which it makes, one
// file a round: pprof adds them up when it is given several.
type Profiler struct {
	Dir  string
	file int
}

// Turn is for a [Runner]'s field of that name.
func (p *Profiler) Turn(c *Contest, entrant int) (end func()) {
	if entrant != 0 {
		return func() {}
	}
	p.file++
	file, err := p.create(fmt.Sprintf("%s-%d.pprof", c.Name, p.file))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return func() {}
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

func (p *Profiler) create(name string) (*os.File, error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(p.Dir, name))
}
