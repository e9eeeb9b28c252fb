// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// TestVersionZero sets a sequence that was made by hand, with the version 0.
// The sequence exists: a caller that sets it as a new one is refused.
func TestVersionZero(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err == nil {
		err = s.Init(t.Context())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sequences", "orders.json"), []byte(`{"current": 5000, "version": 0}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetSequence(t.Context(), "orders", 10, 0); !errors.Is(err, store.ErrConflict) {
		t.Errorf("set as one that does not exist: %v", err)
	}
	if q, err := s.Sequence(t.Context(), "orders"); err != nil || q != (store.Sequence{Value: 5000, Version: 1}) {
		t.Errorf("got %+v, %v", q, err)
	}
}
