// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// engineView is a view as transactions read it. It has the size of a pointer, so
// that an interface holds it without an allocation.
type engineView struct{ *mvcc.View }

var _ ryw.View = engineView{}

// NewScan implements [ryw.View].
func (v engineView) NewScan(b *rangeread.Budget) ryw.Scan { return v.View.NewScan(b) }
