// SPDX-License-Identifier: Apache-2.0

//go:build !(foundationdb && cgo)

package fdbkv_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func TestOpenSaysHowToBuild(t *testing.T) {
	if _, err := fdbkv.Open("fdb.cluster"); !errors.Is(err, fdbkv.ErrNotBuilt) {
		t.Errorf("Open: %v, want ErrNotBuilt", err)
	}
	if _, err := fdbkv.Open("fdb.cluster", fdbkv.Options{MaxWatches: -1}); err == nil || errors.Is(err, fdbkv.ErrNotBuilt) {
		t.Errorf("Open with wrong options: %v, want their fault", err)
	}
}
