// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
)

// systemFlag allows to clear what the database itself needs.
const systemFlag = "system"

// nodeKeys is the prefix of the directory layer's own keys.
const nodeKeys = "\xfe"

// protect refuses a range with keys that the database itself needs.
func (p *place) protect(ctx context.Context, r kv.KeyRange) error {
	switch {
	case p.path != nil && p.db.HoldsSystem(p.path...):
		return protectedError(database.QuotePath(p.path) + " holds what the database itself needs")
	case p.path != nil:
		return nil
	case meet(r, kv.PrefixRange([]byte(nodeKeys))):
		return protectedError(keytext.Format([]byte(nodeKeys)) + " begins the keys of the directory layer")
	}
	return p.protectSystem(ctx, r)
}

// protectSystem refuses a range of the database that meets a system directory.
func (p *place) protectSystem(ctx context.Context, r kv.KeyRange) error {
	names, err := p.layer.List(ctx, p.db.Engine(), nil)
	if err != nil {
		return ignoreDamage(err)
	}
	for _, name := range names {
		if !p.db.HoldsSystem(name) {
			continue
		}
		top, err := survey.Survey{DB: p.db, Depth: -1}.Read(ctx, name)
		if err != nil {
			return ignoreDamage(err)
		}
		for n := range top.All {
			if p.db.HoldsSystem(n.Path...) && meet(r, kv.PrefixRange(n.Prefix)) {
				return protectedError("the range has keys of " + database.QuotePath(n.Path) + ", which the database itself needs")
			}
		}
	}
	return nil
}

// protectNodes refuses a key of the directory layer in a partition: one that belongs to
// the partition and to none of its directories.
func (p *place) protectNodes(ctx context.Context, key []byte) error {
	if p.path != nil {
		return nil
	}
	d, err := p.locate(ctx, key)
	if err != nil || d == nil || !d.IsPartition() {
		return err
	}
	return protectedError("the range has keys of the directory layer in " + database.QuotePath(d.Path()))
}

// protectedError says that keys are cleared only with --system.
func protectedError(reason string) error {
	return shell.Invalid(fmt.Errorf("%s: nothing was changed; with --%s such keys are cleared", reason, systemFlag))
}

// ignoreDamage drops the error of directories that cannot be read: such a database is
// repaired by clearing keys.
func ignoreDamage(err error) error {
	if errors.Is(err, directory.ErrCorrupt) || errors.Is(err, directory.ErrVersion) || errors.Is(err, directory.ErrNotFound) {
		return nil
	}
	return err
}

// meet reports whether two ranges have keys in common.
func meet(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}
