// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// keyPage is the data of the page of a key.
type keyPage struct {
	Config    *idconfig.Config
	Facts     []fact
	Preview   preview
	Charts    chartsOf
	Size      string   // that was asked for
	SizeFault string   // what is wrong with it
	Made      []string // IDs that were made by this request
	Token     *token.Token
}

// fact is a line about a key, with the field of the API that has it; "": none has.
type fact struct{ Name, Value, Field string }

var keyNotices = map[string]string{"created": "The key was created.", "saved": "The changes were saved. All workers use them."}

func (c *Console) showKey(v *visit) error {
	p, err := c.keyPage(v, v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderKey(http.StatusOK, p, keyNotices[v.FormValue("done")])
}

func (c *Console) keyPage(v *visit, key string) (p keyPage, err error) {
	config, state, err := c.worker.Config(v.Context(), key)
	if err != nil {
		return p, err
	}
	p = keyPage{Config: config, Facts: facts(config, state), Charts: chartsOf{key, c.samples.drawCharts(key, config.Type)}, Size: "1"}
	p.Preview, err = c.previewOf(v.Context(), config)
	return p, err
}

// facts returns the lines about a key's state.
func facts(c *idconfig.Config, state any) (list []fact) {
	add := func(name, value string, field ...string) {
		list = append(list, fact{name, value, strings.Join(field, ", ")})
	}
	switch s := state.(type) {
	case *idconfig.IncrementState:
		if s.Exact && s.Current == c.Increment.Base {
			add("Last ID given", "none yet", "current")
		} else if s.Exact {
			add("Last ID given", strconv.FormatInt(s.Current, 10), "current")
		} else {
			add("Last ID given", "at most "+strconv.FormatInt(s.Reserved, 10)+"; several workers give IDs", "current")
		}
		add("Reserved by workers up to", strconv.FormatInt(s.Reserved, 10), "reserved")
	case *idconfig.FormattedState:
		for _, n := range s.Counters {
			of := ""
			if n.Period != "" {
				of = " in " + n.Period
			}
			add("Numbers reserved by workers"+of, "up to "+grouped(n.Reserved))
			add("Numbers that remain"+of, grouped(n.Max-n.Reserved))
		}
	case *idconfig.SnowflakeState:
		leased := grouped(int64(s.ActiveWorkers)) + " of " + grouped(int64(1)<<c.Snowflake.WorkerIDSize)
		if s.Incomplete {
			leased += "; others cannot be read, the log says why"
		}
		add("Worker ids leased", leased, "active_workers")
	}
	return append(list, parameters(c)...)
}

// parameters returns the configuration, in words.
func parameters(c *idconfig.Config) (list []fact) {
	add := func(field, name, value string) { list = append(list, fact{name, value, field}) }
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		add("base", "Base", strconv.FormatInt(i.Base, 10))
		if i.RandDelta {
			add("delta, rand_delta", "Distance", "random, 1 to "+strconv.FormatInt(i.Delta, 10))
		} else {
			add("delta", "Distance", strconv.FormatInt(i.Delta, 10))
		}
		add("max_request_delta", "Largest distance of a request", strconv.FormatInt(i.MaxRequestDelta, 10))
		add("max", "Last possible ID", strconv.FormatInt(i.Bound(), 10))
	case idconfig.TypeSnowflake:
		s := c.Snowflake
		add("skip_size, ts_size, worker_id_size, seq_size", "Bits", strconv.Itoa(s.SkipSize)+" unused, "+strconv.Itoa(s.TSSize)+" time, "+strconv.Itoa(s.WorkerIDSize)+" worker, "+strconv.Itoa(s.SeqSize)+" sequence")
	case idconfig.TypeFormatted:
		if c.Formatted.Pattern != "" {
			add("pattern", "Pattern", c.Formatted.Pattern)
		}
		var parts []string
		for _, p := range c.Formatted.Parts {
			kind, _ := partKindOf(p.Type)
			parts = append(parts, strings.ToLower(kind.Label))
		}
		add("parts", "Parts", strings.Join(parts, ", "))
	}
	if c.KeyTokenOnly {
		add("key_token_enable", "Tokens", "its own and the admin's; not the token for all keys")
	}
	return list
}

// maxMade is how many IDs the console makes at once.
const maxMade = 100

// generateIDs makes IDs and shows them. They count as given.
func (c *Console) generateIDs(v *visit) error {
	key := v.PostFormValue("key")
	config, _, err := c.worker.Config(v.Context(), key)
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(v.PostFormValue("size"))
	var made []string
	fault := ""
	if err != nil || size < 1 || size > maxMade {
		fault = "It is " + strconv.Quote(v.PostFormValue("size")) + "; allowed are 1 to " + strconv.Itoa(maxMade) + "."
	} else if made, err = c.makeIDs(v, config, size); err != nil {
		return err
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	p.Size, p.SizeFault, p.Made = v.PostFormValue("size"), fault, made
	if fault != "" {
		return v.renderKey(http.StatusBadRequest, p, "")
	}
	v.logAction("made IDs", key)
	return v.renderKey(http.StatusOK, p, "")
}

func (c *Console) makeIDs(v *visit, config *idconfig.Config, size int) (made []string, err error) {
	switch config.Type {
	case idconfig.TypeIncrement:
		ids, err := c.worker.Increment(v.Context(), nil, idbuilder.IncrementRequest{Key: config.Key, Size: size})
		for _, id := range ids {
			made = append(made, strconv.FormatInt(id, 10))
		}
		return made, err
	case idconfig.TypeFormatted:
		return c.worker.Formatted(v.Context(), nil, config.Key, size)
	}
	return nil, api.Errorf(api.Invalid, "clients make snowflake IDs themselves; the service leases worker ids to them")
}

// showToken shows the token of a key, in this answer only.
func (c *Console) showToken(v *visit) error {
	key := v.PostFormValue("key")
	if key == token.GlobalKey {
		return v.showGlobalToken(c.worker.Tokens().Key(v.Context(), v.admin, key))
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	t, err := c.worker.Tokens().Key(v.Context(), v.admin, key)
	if err != nil {
		return err
	}
	p.Token = &t
	v.logAction("showed the token", key)
	return v.renderKey(http.StatusOK, p, "")
}

// isNotFound reports whether a key does not exist.
func isNotFound(err error) bool {
	e := (*api.Error)(nil)
	return errors.As(err, &e) && e.Code == api.NotFound
}
