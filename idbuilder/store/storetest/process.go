// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/seed"
)

const (
	processes = 4
	// workRanges is the number of ranges that [Work] reserves, and workPuts how often it
	// increments the number in a document.
	workRanges, workPuts = 24, 4
	workName             = "work"
)

// workLine is a line that Work writes: a range, or a count that was stored.
type workLine struct {
	Range store.Range
	Count int64
}

// Work is the work of a process of [Suite.Process]: it reserves ranges and changes a
// document, and writes each result to w as a line of JSON. It does not close the store.
func Work(ctx context.Context, s store.Store, w io.Writer) error {
	out := json.NewEncoder(w)
	for i := range workRanges {
		r, err := s.Reserve(ctx, workName, up(0, 1, int64(1+i%7)))
		if err != nil {
			return err
		}
		if err := out.Encode(workLine{Range: r}); err != nil {
			return err
		}
		if i%(workRanges/workPuts) != 0 {
			continue
		}
		n, err := increment(ctx, s)
		if err != nil {
			return err
		}
		if err := out.Encode(workLine{Count: n}); err != nil {
			return err
		}
	}
	return nil
}

// increment increments the number in a document.
func increment(ctx context.Context, s store.Store) (int64, error) {
	for {
		d, err := s.Get(ctx, store.Settings, workName)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		var value struct{ N int64 }
		if err == nil {
			if err := json.Unmarshal(d.Value, &value); err != nil {
				return 0, err
			}
		}
		value.N++
		text, err := json.Marshal(value)
		if err != nil {
			return 0, err
		}
		_, err = s.Put(ctx, store.Settings, store.Document{Key: workName, Version: d.Version, Value: text})
		if !errors.Is(err, store.ErrConflict) {
			return value.N, err
		}
	}
}

// process is a process that runs [Work].
type process struct {
	cmd    *exec.Cmd
	out    io.Reader
	stderr bytes.Buffer
}

// readLines returns the lines of the process. It kills the process after the line
// with the number killAt, if that is not negative.
func (p *process) readLines(killAt int) (lines []workLine, err error) {
	for in := bufio.NewScanner(p.out); in.Scan(); {
		var line workLine
		if !bytes.HasPrefix(in.Bytes(), []byte("{")) {
			continue // the last line of a test binary
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return lines, err
		}
		if lines = append(lines, line); len(lines) == killAt {
			_ = p.cmd.Process.Kill()
		}
	}
	err = p.cmd.Wait()
	if killAt >= 0 && errors.As(err, new(*exec.ExitError)) && p.cmd.ProcessState.ExitCode() == -1 {
		err = nil // killed
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.stderr.Bytes())
	}
	return lines, err
}

// testProcesses runs several processes at the same time.
func testProcesses(f *fixture) {
	if f.Process == nil {
		return
	}
	s := f.openStore()
	ranges, counts := f.runProcesses(processes, func(int) int { return -1 })
	if err := ranges.Check(false); err != nil || ranges.Len() != processes*workRanges {
		f.Errorf("%d ranges, want %d: %v", ranges.Len(), processes*workRanges, err)
	}
	if n, err := increment(f.Context(), s); err != nil || n != processes*workPuts+1 || len(counts) != processes*workPuts {
		f.Errorf("%d changes of the document, of which it has %d: %v", len(counts), n-1, err)
	}
}

// testKilled kills processes while they work: numbers that they reported are not given
// again, and the other processes go on.
func testKilled(f *fixture) {
	if f.Process == nil {
		return
	}
	s, r := f.openStore(), seed.Rand(f)
	ranges, counts := f.runProcesses(6, func(int) int { return 1 + r.IntN(workRanges) })
	for range 3 {
		got, err := s.Reserve(f.Context(), workName, up(0, 1, 5))
		f.check(err)
		ranges.Add(got)
	}
	if err := ranges.Check(true); err != nil {
		f.Error(err)
	}
	seen := map[int64]bool{}
	for _, n := range counts {
		if seen[n] {
			f.Errorf("two processes changed the document from %d", n-1)
		}
		seen[n] = true
	}
	if n, err := increment(f.Context(), s); err != nil || n <= int64(len(counts)) {
		f.Errorf("the document has %d changes, of %d: %v", n-1, len(counts), err)
	}
}
