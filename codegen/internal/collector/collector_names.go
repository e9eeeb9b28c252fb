// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// nameMessages gives each message the suffix of its functions: the Go name,
// with the package's name before it if it is another's, and a digit where that
// is not enough. It also finds the recursive ones.
func (c *collector) nameMessages() {
	slices.SortFunc(c.pkg.Messages, func(a, b *model.Message) int {
		return cmp.Or(cmp.Compare(len(types.TypeString(a.Named, nil)), len(types.TypeString(b.Named, nil))),
			cmp.Compare(types.TypeString(a.Named, nil), types.TypeString(b.Named, nil)))
	})
	taken := map[string]bool{}
	for _, local := range []bool{true, false} {
		for _, m := range c.pkg.Messages {
			if local == c.isOutside(m.Named.Obj().Pkg()) {
				continue
			}
			m.Function = model.FreeName(model.Exported(model.IdentifierOf(m.Named, c.pkg.Types)), taken)
		}
	}
	slices.SortFunc(c.pkg.Messages, func(a, b *model.Message) int { return cmp.Compare(a.Function, b.Function) })
	for _, m := range c.pkg.Messages {
		m.Recursive = model.Reaches(m, m, map[*model.Message]bool{})
	}
}
