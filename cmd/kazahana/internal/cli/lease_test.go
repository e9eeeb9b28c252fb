// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// readerFunc is a function as an [io.Reader].
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestReleaseAsOfNow: a lease is released as of when it is read, not as of when the command
// began to wait for it: the holder may have made IDs in between.
func TestReleaseAsOfNow(t *testing.T) {
	home := "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	run := func(command func(*shell.Console) *cobra.Command, in io.Reader, args ...string) []byte {
		var out bytes.Buffer
		cmd := command(&shell.Console{Streams: shell.Streams{In: in, Out: shell.Escaping(&out, new(true)), Err: io.Discard}, JSON: true})
		cmd.SetArgs(append(args, "--leases", home))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	granted := bytes.NewReader(run(acquireCommand, strings.NewReader(""), "--fresh"))
	var read time.Time
	released := run(releaseCommand, readerFunc(func(p []byte) (int, error) {
		for begun := time.Now(); read.IsZero() && time.Now().UnixMilli() < begun.UnixMilli()+2; {
			time.Sleep(time.Millisecond)
		}
		if read.IsZero() {
			read = time.Now()
		}
		return granted.Read(p)
	}))
	var r releaseResult
	if err := json.Unmarshal(released, &r); err != nil || r.LastTs == nil || *r.LastTs < read.UnixMilli() {
		t.Errorf("a lease that was read at %d was released as %s, %v", read.UnixMilli(), released, err)
	}
}

// TestLastUsed checks that a lease is given back as unused only with the flag, and not because
// a clock is behind.
func TestLastUsed(t *testing.T) {
	g := idgen.Lease{Created: 1000, Expired: 2000}
	for _, c := range []struct {
		lastMs int64
		unused bool
		want   int64
	}{
		{1500, false, 1500},
		{1000, false, 1000},
		{999, false, 1000},
		{0, false, 1000},
		{1999, false, 1999},
		{2000, false, 1999},
		{9000, false, 1999},
		{1500, true, 999},
	} {
		if got := lastUsed(g, c.lastMs, c.unused); got != c.want {
			t.Errorf("last used at %d, unused %v: got %d, want %d", c.lastMs, c.unused, got, c.want)
		}
	}
}
