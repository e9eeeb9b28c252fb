// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// base checks the base and returns the version that it has absorbed, the highest
// possible if that cannot be known.
func (v *verifier) base() (absorbed int64, err error) {
	dir := v.fs.PathJoin(v.dir, baseDir)
	exists, err := v.parts.hasBase()
	if err == nil && !exists {
		err = &fault.CorruptError{File: dir, Reason: "the folder has no base: it is no database, or its files are gone"}
	}
	if err != nil {
		return math.MaxInt64, v.found(err)
	}
	names, err := v.fs.List(dir)
	if err != nil {
		return 0, err
	}
	b, err := readBase(v.fs, dir, 1<<20)
	if err != nil {
		return math.MaxInt64, errors.Join(v.found(err), v.tables(dir, tableFiles(names)))
	}
	defer func() { err = errors.Join(err, b.closeStore()) }()
	live, err := b.liveTables()
	if err != nil {
		return 0, err
	}
	damaged := len(v.report.Damage)
	if err := v.tables(dir, live); err != nil {
		return 0, err
	}
	if len(v.report.Damage) == damaged {
		err = v.found(v.order(b, dir))
	}
	return b.absorbedVersion(), err
}

func (v *verifier) tables(dir string, tables []table) error {
	for _, t := range tables {
		size, err := t.check(v.ctx, v.fs, dir)
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
		damage := &fault.CorruptError{File: v.fs.PathJoin(dir, t.name), Reason: err.Error()}
		damage.Offset = damagedAt(err)
		if t.keys != "" {
			damage.Reason += "; the file holds " + t.keys
		}
		v.report.Damage = append(v.report.Damage, damage)
	}
	return nil
}

// order checks the order of keys in the base.
func (v *verifier) order(b *base, dir string) (err error) {
	if v.report.Keys, err = b.checkOrder(); err != nil {
		return &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the tables do not fit each other: %v", err)}
	}
	return nil
}
