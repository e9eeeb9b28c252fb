// SPDX-License-Identifier: Apache-2.0

// Package seed gives random tests their seed: a new one in each run, or the one
// of the environment variable KAZAHANA_SEED, as in CI. A test that fails prints
// the command that repeats it.
//
//	func TestRandom(t *testing.T) {
//		random := seed.Rand(t)
//		for range 1000 {
//			check(t, random.IntN(100))
//		}
//	}
package seed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	// Variable is the environment variable that sets the seed of all random tests.
	// The Makefile sets it, and rapid's with it.
	Variable = "KAZAHANA_SEED"

	// RunsVariable is the environment variable that sets how many seeds a test of
	// many seeds runs: 1 in make replay, more than usual in a soak.
	RunsVariable = "KAZAHANA_RUNS"
)

// Of returns the seed of a test: that of [Variable], from 0 to 2⁶⁴-1 in decimal,
// or a random one. It logs the command that repeats the test, which go test shows
// if the test fails. It fails the test if the variable is not a number.
func Of(tb testing.TB) uint64 {
	tb.Helper()
	seed, err := fromEnvironment()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Log("to repeat: " + Command(tb, seed))
	return seed
}

// Rand returns random numbers from the seed of the test: the same ones each time
// it is called. One goroutine at a time may use them.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(Of(tb), 0))
}

// Series returns the seeds of a test that runs n of them, or as many as
// [RunsVariable] says: the seed of the test and the numbers after it. It fails the
// test if the variable is not a number from 1 to 2³¹-1.
func Series(tb testing.TB, n int) []uint64 {
	tb.Helper()
	if text := os.Getenv(RunsVariable); text != "" {
		runs, err := strconv.ParseUint(text, 10, 31)
		if err != nil || runs == 0 {
			tb.Fatalf("the environment variable %s is not a number from 1 to 2147483647: %q", RunsVariable, text)
		}
		n = int(runs)
	}
	seeds := make([]uint64, n)
	for i, first := 0, Of(tb); i < n; i++ {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// Command returns the command that runs the test with one seed.
func Command(tb testing.TB, seed uint64) string {
	return fmt.Sprintf("make replay SEED=%d PKG=%s RUN='%s'%s", seed, folder(), pattern(tb.Name()), onCluster)
}

func fromEnvironment() (uint64, error) {
	if os.Getenv(Variable) == "" {
		return rand.Uint64(), nil
	}
	seed, err := strconv.ParseUint(os.Getenv(Variable), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the environment variable %s is not a number from 0 to 18446744073709551615: %w", Variable, err)
	}
	return seed, nil
}

// pattern returns what -run takes for the one test of that name.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// folder returns the folder of the test's package as seen from the repository's
// root, such as ./kv/kvtest; the folder itself if there is no root.
func folder() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := here; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			relative, _ := filepath.Rel(root, here)
			return "./" + filepath.ToSlash(relative)
		}
		if root == filepath.Dir(root) {
			return here
		}
	}
}
