// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// ReadShown is [Survey.Read] that shows on the console how many directories it has read.
func (s Survey) ReadShown(ctx context.Context, c *shell.Console, path ...string) (*Node, error) {
	show := c.StartProgress("reading directories", 0, shell.Things)
	defer show.Finish()
	seen := int64(0)
	s.Visit = func() {
		seen++
		show.Set(seen)
	}
	return s.Read(ctx, path...)
}
