// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestArgument: a shell reads random arguments as they were, and plain ones are not quoted.
func TestArgument(t *testing.T) {
	for _, plain := range []string{"tenants/tenant-1/orders", "größe_2", "a:b@c,d.e+f%"} {
		if got := shell.Argument(plain); got != plain {
			t.Errorf("%s is quoted: %s", plain, got)
		}
	}
	words, line := []string{"", "~", "#a", "a=b", "*", "$HOME", "{a,b}", "!!"}, "printf '%s\\0'"
	random := seed.Rand(t)
	odd := []rune("a/'\"\\ $`!*?~#&;|<>(){}[]=é\t\n-")
	for range 500 {
		word := make([]rune, random.IntN(6))
		for i := range word {
			word[i] = odd[random.IntN(len(odd))]
		}
		words = append(words, string(word))
	}
	for _, word := range words {
		line += " " + shell.Argument(word)
	}
	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(string(out), "\x00"); !slices.Equal(got[:len(got)-1], words) {
		t.Errorf("the shell reads %q, want %q", got, words)
	}
}
