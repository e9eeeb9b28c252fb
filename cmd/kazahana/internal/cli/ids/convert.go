// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func inspectCommand(c *shell.Console) *cobra.Command {
	var (
		codec      codecFlags
		isExternal bool
	)
	cmd := &cobra.Command{
		Use: "inspect [id...]", Short: "Take IDs apart: time, machine, sequence, kind",
		Long: `Take IDs apart: time, machine, sequence, and whether they were made under a lease. IDs are
arguments or, without any, lines of the input.` + "\n" + aboutKeys,
		Example: "  kazahana id inspect 211469771380744768\n  kazahana id inspect --external --key-file order.key --type order 6PkiL_g23Gw",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convert(c, cmd, &codec, args, func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error) {
				if !isExternal {
					id, err := parseID(l, word)
					return breakDown(l, id), err
				}
				id, err := codec.Decode(word)
				b := breakDown(l, id)
				b.External = word
				return b, err
			})
		},
	}
	cmd.Flags().BoolVarP(&isExternal, "external", "x", false, "the IDs are in external form")
	codec.addTo(cmd)
	return cmd
}

func encodeCommand(c *shell.Console) *cobra.Command {
	var codec codecFlags
	cmd := &cobra.Command{
		Use: "encode [id...]", Short: "Write IDs in external form",
		Long: `Write IDs in external form, 11 characters of base64url. IDs are arguments or, without any,
lines of the input.` + "\n" + aboutKeys,
		Example: "  kazahana id encode 211469771380744768\n  kazahana id encode --key-file order.key --type order 211469771380744768",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convert(c, cmd, &codec, args, func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error) {
				id, err := parseID(l, word)
				if err != nil {
					return nil, err
				}
				return conversion{ID: id, External: codec.Encode(id)}, nil
			})
		},
	}
	codec.addTo(cmd)
	return cmd
}

func decodeCommand(c *shell.Console) *cobra.Command {
	var codec codecFlags
	cmd := &cobra.Command{
		Use: "decode [text...]", Short: "Read IDs from their external form",
		Long: `Read IDs from their external form. Texts are arguments (after --, where they begin with a
hyphen) or, without any, lines of the input.` + "\n" + aboutKeys,
		Example: "  kazahana id decode OgB0XY30n3U\n  kazahana id decode --key-file order.key --type order -- 6PkiL_g23Gw",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convert(c, cmd, &codec, args, func(codec *external.Codec, _ idgen.Layout, word string) (shell.Result, error) {
				id, err := codec.Decode(word)
				return conversion{ID: id, External: word, decoded: true}, err
			})
		},
	}
	codec.addTo(cmd)
	return cmd
}

// conversion is an ID in both forms. Its text is the requested one.
type conversion struct {
	ID       idgen.ID `json:"id"`
	External string   `json:"external"`
	decoded  bool
}

func (v conversion) Lines() []string {
	if v.decoded {
		return []string{v.ID.String()}
	}
	return []string{v.External}
}

// convert writes the conversion of each word.
func convert(c *shell.Console, cmd *cobra.Command, flags *codecFlags, args []string, of func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error)) error {
	codec, err := flags.newCodec(cmd)
	if err != nil {
		return err
	}
	l, err := flags.Layout(cmd)
	if err != nil {
		return err
	}
	return c.Each(args, func(word string) error {
		r, err := of(codec, l, word)
		if err != nil {
			return err
		}
		return c.Write(r)
	})
}

// parseID reads an ID that a generator of the layout could have made.
func parseID(l idgen.Layout, word string) (idgen.ID, error) {
	id, err := idgen.Parse(word)
	if err != nil {
		return 0, err
	}
	if id.IsZero() || uint64(id)>>(64-l.BitReserve) != 0 {
		return 0, fmt.Errorf("%w %s: not an ID of a layout with %d reserve bits", idgen.ErrInvalid, word, l.BitReserve)
	}
	return id, nil
}
