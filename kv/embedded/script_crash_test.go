// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
)

// crash opens what a loss of power leaves: without what was not synced, or with all
// of it.
func (s *script) crash(d *datadriven.TestData) {
	cfg := vfs.CrashCloneCfg{}
	if d.HasArg("unsynced-stays") {
		cfg = vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	}
	left := s.mem.CrashClone(cfg)
	s.close()
	s.commits, s.watches = nil, nil
	s.mem = left
	if cut := 0; d.MaybeScanArgs(s.t, "cut", &cut) {
		s.changeLog(func(data []byte) []byte { return data[:len(data)-cut] })
	}
	if at := 0; d.MaybeScanArgs(s.t, "flip", &at) {
		s.changeLog(func(data []byte) []byte { data[at] ^= 0xff; return data })
	}
	s.open()
}

// changeLog changes the file of the newest segment.
func (s *script) changeLog(change func([]byte) []byte) {
	numbers, err := commitlog.List(s.mem, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	number := numbers[len(numbers)-1]
	data := logFile(s.mem, s.dir, number)
	f, err := s.mem.Create(s.mem.PathJoin(s.dir, logName(int(number))), vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(change(data))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// crashEverywhere makes another step, takes the power away before each operation of
// the disk that writes, and after the last one, and prints what is left: one line for
// all crashes in a row that leave the same.
func (s *script) crashEverywhere(d *datadriven.TestData) {
	var mu sync.Mutex
	var left []*vfs.MemFS
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, s.mem.CrashClone(vfs.CrashCloneCfg{}))
	}
	s.onWrite.Store(&note)
	line, input, _ := strings.Cut(d.Input, "\n")
	name, args, err := datadriven.ParseLine(line)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	s.steps()[name](&datadriven.TestData{Pos: d.Pos, Cmd: name, CmdArgs: args, Input: input})
	note()
	s.onWrite.Store(nil)
	mu.Lock()
	defer mu.Unlock()
	last := ""
	for _, fs := range left {
		if text := s.leftText(fs); text != last {
			s.printf("a crash leaves %s", text)
			last = text
		}
	}
}

// leftText says what a crash has left, and what is found when that is opened.
func (s *script) leftText(fs *vfs.MemFS) string {
	numbers, err := commitlog.List(fs, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var segments []string
	for _, n := range numbers {
		frames, _ := logFrames(fs, s.dir, n)
		segments = append(segments, fmt.Sprintf("segment %d (frames: %d)", n, len(frames)))
	}
	o := s.options
	o.FS = fs
	db, err := OpenWith(s.dir, o)
	if err != nil {
		return err.Error()
	}
	absorbed := db.disk.base.AbsorbedVersion()
	pairs, _, _, err := db.scanNewest(nil, []byte{0xff})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%s, base up to %s: %s", strings.Join(segments, ", "), s.version(absorbed), pairsText(pairs))
}
