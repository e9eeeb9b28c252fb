// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// bar shows the progress of a build, in bytes of records: the size of all is known when it
// begins.
type bar struct {
	console  *shell.Console
	name     string
	progress *shell.Progress
	started  bool
	last     persistable.BuildProgress
}

func newBar(c *shell.Console, name string) *bar { return &bar{console: c, name: name} }

// show is a Progress of [persistable.BuildOptions].
func (b *bar) show(p persistable.BuildProgress) {
	if !b.started {
		b.progress, b.started = b.console.StartProgress(b.name, p.EstimatedBytes, shell.Bytes), true
	}
	b.last = p
	b.progress.Set(p.EstimatedDone)
}

func (b *bar) finish() { b.progress.Finish() }
