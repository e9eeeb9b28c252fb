// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestTooManyServicesExplained: the error names the flag of the command that helps.
func TestTooManyServicesExplained(t *testing.T) {
	provider, err := memory.New(memory.Options{Server: lease.Options{MaxServices: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		_, err = provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: id})
	}
	if !errors.Is(err, lease.ErrTooManyServices) {
		t.Fatalf("got %v, want ErrTooManyServices", err)
	}
	if text := Error(err).Error(); !strings.Contains(text, "--max-services") || strings.Contains(text, "MaxServices") {
		t.Errorf("it is explained as %q", text)
	}
}
