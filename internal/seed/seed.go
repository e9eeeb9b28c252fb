// SPDX-License-Identifier: Apache-2.0

// Package seed gives random tests their seed: a new one in each run, or the one
// of the environment variable KAZAHANA_SEED. A test that fails prints the command
// that repeats it.
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

// Variable is the environment variable that sets the seed of all random tests.
const Variable = "KAZAHANA_SEED"

// Of returns the seed of a test: that of [Variable], from 0 to 2⁶⁴-1 in decimal,
// or a random one. It logs the command that repeats the test, which go test shows
// if the test fails. It fails the test if the variable is not a number.
func Of(tb testing.TB) uint64 {
	tb.Helper()
	seed, err := fromEnvironment()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("to repeat: make replay SEED=%d PKG=%s RUN='%s'", seed, folder(), pattern(tb.Name()))
	return seed
}

// Rand returns random numbers from the seed of the test: the same ones each time
// it is called. One goroutine at a time may use them.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(Of(tb), 0))
}

// Given reports whether [Variable] sets the seed: a test that runs many seeds
// runs this one only.
func Given() bool { return os.Getenv(Variable) != "" }

func fromEnvironment() (uint64, error) {
	if !Given() {
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
