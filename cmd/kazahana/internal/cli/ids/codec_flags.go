// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/layoutflag"
	"github.com/kazahana-db/kazahana/idgen/external"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// keyVariable is the environment variable of the key of a version, 0 to 3.
const keyVariable = "KAZAHANA_EXTERNAL_KEY_"

const aboutKeys = `
IDs are scrambled unless --mode says otherwise. Scrambling needs no key, and hides nothing from a reader
who knows it. With --mode keyed or --key-file IDs are encrypted. A key has 16 bytes or more, in hexadecimal
(openssl rand -hex 32). It is in a file or in the environment, KAZAHANA_EXTERNAL_KEY_0 to _3, and never in
an argument, which other users of the machine can see.`

// codecFlags are the flags of external IDs.
type codecFlags struct {
	layoutflag.Flags
	mode, cipher, typ string
	keyFiles          []string
	current           int
	maxAhead          time.Duration
}

func (f *codecFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.Flags.Add(flags)
	flags.StringVar(&f.mode, "mode", "scramble", "`mode`: scramble, plain or keyed")
	flags.StringVar(&f.cipher, "cipher", "speck64", "`cipher` of mode keyed: speck64 or xtea")
	flags.StringVar(&f.typ, "type", "", "`type` of the records, which has a subkey of its own")
	flags.StringArrayVar(&f.keyFiles, "key-file", nil, "`[version=]file` of a key; repeat it for keys of other versions")
	flags.IntVar(&f.current, "current", 0, "`version` of the key that IDs are encoded with")
	flags.DurationVar(&f.maxAhead, "max-ahead", 0, "refuse to decode IDs of a time further ahead than this `duration`; 0: do not look")
	complete(cmd, "mode", "scramble", "plain", "keyed")
	complete(cmd, "cipher", "speck64", "xtea")
}

// complete makes shells complete a flag from words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	// It fails for a flag that does not exist.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// newCodec returns the codec that the flags describe.
func (f *codecFlags) newCodec(cmd *cobra.Command) (*external.Codec, error) {
	opts, err := f.codecOptions(cmd)
	if err != nil {
		return nil, err
	}
	codec, err := external.New(opts)
	if err != nil {
		return nil, shell.Misuse(cmd, err)
	}
	return codec.For(f.typ), nil
}

func (f *codecFlags) codecOptions(cmd *cobra.Command) (opts external.Options, err error) {
	if opts.Layout, err = f.Layout(cmd); err != nil {
		return opts, err
	}
	opts.Current, opts.MaxAhead = f.current, f.maxAhead
	if opts.Mode, err = choose(cmd, "mode", f.mode, external.Scramble, external.Plain, external.Keyed); err != nil {
		return opts, err
	}
	if opts.Cipher, err = choose(cmd, "cipher", f.cipher, external.Speck64, external.XTEA); err != nil {
		return opts, err
	}
	if len(f.keyFiles) > 0 && !cmd.Flags().Changed("mode") {
		opts.Mode = external.Keyed
	}
	if opts.Mode == external.Keyed {
		opts.Keys, err = f.readKeys(cmd)
	} else if len(f.keyFiles) > 0 {
		err = shell.Misuse(cmd, fmt.Errorf("--key-file is for --mode keyed, not for %v", opts.Mode))
	}
	return opts, err
}

// choose returns the value with the name that a flag has.
func choose[T fmt.Stringer](cmd *cobra.Command, flag, name string, values ...T) (T, error) {
	var names []string
	for _, v := range values {
		if v.String() == name {
			return v, nil
		}
		names = append(names, v.String())
	}
	return values[0], shell.Misuse(cmd, fmt.Errorf("--%s %q: want one of %s", flag, name, strings.Join(names, ", ")))
}

// readKeys reads the keys of the environment and of files. Files take precedence.
func (f *codecFlags) readKeys(cmd *cobra.Command) (map[int][]byte, error) {
	keys := map[int][]byte{}
	for version := range 4 {
		name := keyVariable + strconv.Itoa(version)
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		key, err := external.ParseKey([]byte(text))
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("%s: %w", name, err))
		}
		keys[version] = key
	}
	for _, word := range f.keyFiles {
		version, key, err := readKey(word)
		if err != nil {
			return nil, err
		}
		keys[version] = key
	}
	if len(keys) == 0 {
		return nil, shell.Misuse(cmd, errors.New("mode keyed needs a key: give --key-file, or set "+keyVariable+"0"))
	}
	return keys, nil
}

// readKey reads "[version=]file".
func readKey(word string) (version int, key []byte, err error) {
	file := word
	if before, after, ok := strings.Cut(word, "="); ok {
		if n, err := strconv.Atoi(before); err == nil {
			version, file = n, after
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, fmt.Errorf("--key-file: %w", err)
	}
	if key, err = external.ParseKey(text); err != nil {
		return 0, nil, shell.Invalid(fmt.Errorf("--key-file %s: %w", file, err))
	}
	return version, key, nil
}
