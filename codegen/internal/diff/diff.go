// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// Unified returns the difference of two texts in the unified format, or
// nil if there is none.
func Unified(name string, old, now []byte) []byte {
	if bytes.Equal(old, now) {
		return nil
	}
	script := editScript(lines(old), lines(now))
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- %s\n+++ %s (generated)\n", name, name)
	for from := 0; from < len(script); {
		if script[from].op == ' ' {
			from++
			continue
		}
		to := hunkEnd(script, from)
		writeHunk(&out, script, max(0, from-diffContext), min(len(script), to+diffContext))
		from = to
	}
	return out.Bytes()
}

// lines splits a text, keeping no final empty line.
func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// hunkEnd returns the end of the changes that begin at from and have at most
// twice the context of unchanged lines between them.
func hunkEnd(script []edit, from int) int {
	end := from
	for i := from; i < len(script) && i-end <= 2*diffContext; i++ {
		if script[i].op != ' ' {
			end = i + 1
		}
	}
	return end
}

func writeHunk(out *bytes.Buffer, script []edit, from, to int) {
	oldLine, newLine := 1, 1
	for _, e := range script[:from] {
		if e.op != '+' {
			oldLine++
		}
		if e.op != '-' {
			newLine++
		}
	}
	oldCount, newCount := 0, 0
	for _, e := range script[from:to] {
		if e.op != '+' {
			oldCount++
		}
		if e.op != '-' {
			newCount++
		}
	}
	if oldCount == 0 {
		oldLine--
	}
	if newCount == 0 {
		newLine--
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", oldLine, oldCount, newLine, newCount)
	for _, e := range script[from:to] {
		fmt.Fprintf(out, "%c%s\n", e.op, e.line)
	}
}
