// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/naive"
	"github.com/kazahana-db/kazahana/kv/internal/play"
	"github.com/kazahana-db/kazahana/kv/internal/record"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

func TestDifferentialOfTheSameEngine(t *testing.T) {
	counts := Run(t, naive.Open(t), naive.Open(t), Options{Seed: seed.Of(t), Programs: 40})
	if counts.Programs != 40 || counts.Steps < 40*40 || counts.Different != 0 {
		t.Errorf("counted %+v", counts)
	}
}

// Whatever is wrong with an engine must be found, and be shown small.
func TestDifferentialFindsWrongEngines(t *testing.T) {
	for _, fault := range []string{
		"no read conflicts", "no phantoms", "ranges end with their first batch", "absent keys are empty",
		"arguments are used after the call", "additions conflict", "watches never fire", "everything is retried",
		"cleared ranges stay", "snapshot reads conflict", "writes are reads",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && fault != "no phantoms" && fault != "ranges end with their first batch" {
				t.Skip("each wrong engine takes some seconds")
			}
			wrong := naive.OpenFaulty(t, fault)
			options := Options{Seed: 1, Programs: 400, Names: [2]string{"right", "wrong"}}
			failures := record.Failures(t, func(tb testing.TB) { firstOnly(tb, naive.Open(t), wrong, options) })
			if len(failures) == 0 {
				t.Fatal("not found")
			}
			if steps := strings.Count(failures[0], "\n\t") - 2; !strings.Contains(failures[0], "right (want) and wrong (got) differ") || steps > 12 {
				t.Errorf("not shown small (%d steps):\n%s", steps, failures[0])
			}
		})
	}
}

// firstOnly runs programs one by one until one fails.
func firstOnly(tb testing.TB, a, b kv.Database, o Options) {
	programs := o.Programs
	o.Programs = 1
	for o.First = range programs {
		if Run(tb, a, b, o); tb.Failed() {
			return
		}
	}
}

func TestProgramsAreTheirSeeds(t *testing.T) {
	written := func(seed uint64, n int) string {
		line, err := json.Marshal(drawProgram(seed, n, 30))
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	seen := map[string]bool{}
	for n := range 30 {
		one, other := written(7, n), written(8, n)
		if again := written(7, n); again != one {
			t.Errorf("program %d is not the same twice", n)
		}
		seen[one], seen[other] = true, true
	}
	if len(seen) != 60 {
		t.Errorf("60 programs, only %d different ones", len(seen))
	}
}

// TestProgramsDrawEverything fails if a call, mutation, mode or option of the
// vocabulary is never drawn.
func TestProgramsDrawEverything(t *testing.T) {
	drawn := map[string]bool{}
	for n := range 400 {
		for _, st := range drawProgram(1, n, 40).Steps {
			drawn[st.Op], drawn[st.Mutation], drawn[st.Mode], drawn[st.Option] = true, true, true, true
		}
	}
	var missing []string
	note := func(name string) {
		if !drawn[name] && !slices.Contains([]string{"sleep", "access_system_keys", "read_system_keys"}, name) {
			missing = append(missing, name)
		}
	}
	for name := range play.Calls {
		note(name)
	}
	for name := range scenario.MutationNames {
		note(name)
	}
	for name := range scenario.ModeNames {
		note(name)
	}
	for name := range scenario.OptionNames {
		note(name)
	}
	if len(missing) > 0 {
		t.Errorf("never drawn: %v", missing)
	}
}

func TestWrittenScenariosReadTheSame(t *testing.T) {
	for n := range 20 {
		want := drawProgram(3, n, 40)
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		all, err := scenario.Decode(strings.NewReader(string(line)), "line")
		if err != nil || len(all) != 1 {
			t.Fatalf("%d scenarios, %v", len(all), err)
		}
		if again, err := json.Marshal(all[0]); err != nil || string(again) != string(line) {
			t.Errorf("program %d changes: %v\n%s\n%s", n, err, line, again)
		}
	}
}

func TestFewest(t *testing.T) {
	all := make([]int, 50)
	for i := range all {
		all[i] = i
	}
	tries := 0
	got := fewest(all, func(part []int) bool {
		tries++
		return slices.Contains(part, 7) && slices.Contains(part, 30) && slices.Contains(part, 31)
	})
	if diff := cmp.Diff([]int{7, 30, 31}, got); diff != "" || tries > 200 {
		t.Errorf("after %d tries (-want +got):\n%s", tries, diff)
	}
	if got := fewest([]int{1, 2}, func(part []int) bool { return true }); len(got) != 0 {
		t.Errorf("%v is left of what fails anyhow", got)
	}
}

func TestAwaitsCommits(t *testing.T) {
	steps := func(text string) (all []scenario.Step) {
		for _, word := range strings.Fields(text) {
			op, tx, _ := strings.Cut(word, "/")
			all = append(all, scenario.Step{Op: op, Tx: len(tx)})
		}
		return all
	}
	for text, want := range map[string]bool{
		"":                                  true,
		"commit_start get commit_await":     true,
		"commit_start":                      false,
		"commit_start get":                  false,
		"commit_start reset commit_await":   false,
		"commit_start get/x commit_await":   false,
		"commit_start commit_await reset":   true,
		"commit_await commit_start":         false,
		"get/x commit_start commit_await":   true,
		"commit_start/x commit_await/x get": true,
	} {
		if got := awaitsCommits(steps(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestDifferentialOptionsValidate(t *testing.T) {
	err := Options{Programs: -1, First: -2, Steps: -3}.Validate()
	for _, part := range []string{"Programs is -1", "First is -2", "Steps is -3"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	failures := record.Failures(t, func(tb testing.TB) {
		Run(tb, naive.Open(t), naive.Open(t), Options{Steps: -1})
	})
	if len(failures) != 1 || !strings.Contains(failures[0], "Steps is -1") {
		t.Errorf("failures: %v", failures)
	}
}

// Only a conflict of the first engine, after a read past the end with
// read-your-writes disabled, can be one with a key of the client's own.
func TestConflictsWithClientsOwnKeys(t *testing.T) {
	past, near := scenario.Step{Op: "get_key", Key: literal("a"), Offset: 5000}, scenario.Step{Op: "get_key", Key: literal("a"), Offset: 1}
	begin, disable := scenario.Step{Op: "begin"}, scenario.Step{Op: "set_option", Option: "read_your_writes_disable"}
	conflict, done := scenario.Answer{Kind: "error", Code: kv.CodeNotCommitted}, scenario.Answer{}
	other, view := past, past
	other.Tx, view.Snapshot = 1, true
	for name, tt := range map[string]struct {
		before []scenario.Step
		op     string
		a, b   scenario.Answer
		want   bool
	}{
		"past the end":              {[]scenario.Step{begin, disable, past}, "commit", conflict, done, true},
		"awaited":                   {[]scenario.Step{begin, disable, past}, "commit_await", conflict, done, true},
		"not past the end":          {[]scenario.Step{begin, disable, near}, "commit", conflict, done, false},
		"before the option":         {[]scenario.Step{begin, past, disable}, "commit", conflict, done, false},
		"before a reset":            {[]scenario.Step{begin, disable, past, {Op: "reset"}}, "commit", conflict, done, false},
		"by another transaction":    {[]scenario.Step{begin, disable, other}, "commit", conflict, done, false},
		"by a snapshot read":        {[]scenario.Step{begin, disable, view}, "commit", conflict, done, false},
		"on the second engine only": {[]scenario.Step{begin, disable, past}, "commit", done, conflict, false},
		"another error":             {[]scenario.Step{begin, disable, past}, "commit", conflict, scenario.Answer{Kind: "error", Code: kv.CodeTransactionTooOld}, false},
		"not a commit":              {[]scenario.Step{begin, disable, past}, "get", conflict, done, false},
	} {
		if got := byClientsOwnKey(tt.before, &scenario.Step{Op: tt.op}, [2]scenario.Answer{tt.a, tt.b}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
