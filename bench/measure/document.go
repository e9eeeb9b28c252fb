// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Report returns a section in Markdown: the machine, the cost of its syncs, a table of all
// comparisons, one of the times of operations, and the notes of the contests.
func Report(results []Result, rounds int) string {
	var b strings.Builder
	var costs []time.Duration
	for i := range results {
		costs = append(costs, results[i].Fsync...)
	}
	fmt.Fprintf(&b, "%s, medians of %d interleaved rounds.", Machine(), rounds)
	if len(costs) > 0 {
		fmt.Fprintf(&b, " A sync of an appended 256 bytes cost %s between the rounds (from %s to %s).",
			Duration(Median(costs).Seconds()), Duration(slices.Min(costs).Seconds()), Duration(slices.Max(costs).Seconds()))
	}
	met, all := countMet(results)
	fmt.Fprintf(&b, " %d of %d budgets met.\n\n%s", met, all, comparisons.format(results))
	if times := latencies.format(results); times != "" {
		b.WriteString("\n" + times)
	}
	for i := range results {
		if results[i].Said != "" {
			b.WriteString("\n" + results[i].Said + "\n")
		}
	}
	return b.String()
}

// countMet returns how many budgets were met, and how many there are.
func countMet(results []Result) (met, all int) {
	for i := range results {
		for _, row := range results[i].Rows() {
			if row.Least > 0 {
				all++
				if row.Met() {
					met++
				}
			}
		}
	}
	return met, all
}

// Machine describes the machine on which the program runs.
func Machine() string {
	model := "unknown processor"
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(),
		time.Now().UTC().Format(time.DateOnly))
}

// WriteSection replaces what stands between the marks of a section in a file:
//
//	<!-- name: begin -->
//	<!-- name: end -->
func WriteSection(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->", name)
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no %q followed by %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
