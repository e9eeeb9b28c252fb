// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// checkBase checks the base and returns the version that it has absorbed, the highest
// possible if that cannot be known.
func (v *verifier) checkBase() (absorbed int64, err error) {
	dir := v.fs.PathJoin(v.dir, baseDir)
	exists, err := v.parts.hasBase()
	if err == nil && !exists {
		err = &fault.CorruptError{File: dir, Reason: "the folder has no base: it is no database, or its files are gone"}
	}
	if err != nil {
		return math.MaxInt64, v.keepDamage(err)
	}
	names, err := v.fs.List(dir)
	if err != nil {
		return 0, err
	}
	b, err := base.OpenReadOnly(v.fs, dir, 1<<20)
	if err != nil {
		return math.MaxInt64, errors.Join(v.keepDamage(err), v.checkTables(dir, base.TableFiles(names)))
	}
	defer func() { err = errors.Join(err, b.CloseStore()) }()
	live, err := b.LiveTables()
	if err != nil {
		return 0, err
	}
	damaged := len(v.report.Damage)
	if err := v.checkTables(dir, live); err != nil {
		return 0, err
	}
	if len(v.report.Damage) == damaged {
		err = v.keepDamage(v.checkOrder(b, dir))
	}
	return b.AbsorbedVersion(), err
}

func (v *verifier) checkTables(dir string, tables []base.Table) error {
	for _, t := range tables {
		size, err := t.Check(v.ctx, v.fs, dir)
		if size >= 0 {
			v.report.Files++
			v.report.Bytes += size
		}
		if cause := context.Cause(v.ctx); cause != nil {
			return cause
		}
		if err == nil {
			continue
		}
		damage := &fault.CorruptError{File: v.fs.PathJoin(dir, t.Name), Reason: err.Error()}
		damage.Offset = base.DamagedAt(err)
		if t.Keys != "" {
			damage.Reason += "; the file holds " + t.Keys
		}
		v.report.Damage = append(v.report.Damage, damage)
	}
	return nil
}

// checkOrder checks the order of keys in the base.
func (v *verifier) checkOrder(b *base.Base, dir string) (err error) {
	if v.report.Keys, err = b.CheckOrder(); err != nil {
		return &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the tables do not fit each other: %v", err)}
	}
	return nil
}
