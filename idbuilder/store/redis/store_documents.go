// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// valueKey returns the name of the key of a document's value.
func (s *Store) valueKey(kind store.Kind, key string) string {
	if kind == store.Configs {
		return s.key("cfg", key)
	}
	return s.key("doc", string(kind), key)
}

func (s *Store) documentKeys(kind store.Kind, key string) []string {
	return s.guardedKeys(s.valueKey(kind, key), s.key("docmeta", string(kind), key), s.key("docs", string(kind)), s.key("expiring"), s.key("version"))
}

func member(kind store.Kind, key string) string { return string(kind) + ":" + key }

// tornError is the error of a document that lacks a part.
func (s *Store) tornError(kind store.Kind, key string) error {
	return corrupt(s.valueKey(kind, key), fmt.Errorf("either it or %s is missing", s.key("docmeta", string(kind), key)))
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return store.Document{}, err
	}
	got, err := s.runRead(ctx, "get", getScript, s.documentKeys(kind, key), key, member(kind, key))
	switch {
	case err != nil:
		return store.Document{}, err
	case got.status == "torn":
		return store.Document{}, s.tornError(kind, key)
	case len(got.texts) == 0:
		return store.Document{}, fmt.Errorf("redis: get: %w", store.ErrNotFound)
	}
	return s.decodeDocument(kind, got.texts)
}

// documentParts is the number of texts that a script returns for a document.
const documentParts = 7

// decodeDocument reads what a script returns of a document.
func (s *Store) decodeDocument(kind store.Kind, texts []string) (d store.Document, err error) {
	if len(texts) != documentParts {
		return d, corrupt(s.key("docs", string(kind)), fmt.Errorf("the script returned %d parts", len(texts)))
	}
	d = store.Document{Key: texts[0], Value: []byte(texts[1]), Type: texts[3]}
	r, where := reply{texts: texts}, s.key("docmeta", string(kind), d.Key)
	if d.Version, err = r.int(2, where); err != nil {
		return d, err
	}
	for i, into := range map[int]*time.Time{4: &d.Created, 5: &d.Updated, 6: &d.Expires} {
		if texts[i] == "" {
			continue
		}
		n, err := r.int(i, where)
		if err != nil {
			return d, err
		}
		if *into = time.UnixMicro(n).UTC(); i == 6 {
			*into = time.UnixMilli(n).UTC()
		}
	}
	if err := d.Validate(); err != nil {
		return d, corrupt(s.valueKey(kind, d.Key), err)
	}
	return d, nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate()); err != nil {
		return 0, err
	}
	expires := ""
	if !d.Expires.IsZero() {
		expires = text(d.Expires.UnixMilli())
	}
	got, err := s.runWrite(ctx, "put", putScript, s.documentKeys(kind, d.Key), d.Key, member(kind, d.Key), text(d.Version), rand.Text(), d.Type, expires, s.prefix, d.Value)
	switch {
	case err != nil:
		return 0, err
	case got.status == "torn":
		return 0, s.tornError(kind, d.Key)
	}
	return got.int(0, s.key("version"))
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	got, err := s.runWrite(ctx, "delete", deleteScript, s.documentKeys(kind, key), key, member(kind, key), text(version), s.prefix)
	if err == nil && got.status == "torn" {
		err = s.tornError(kind, key)
	}
	return err
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil {
		return nil, err
	}
	begin, end := bounds(o)
	got, err := s.runRead(ctx, "list", listScript, s.guardedKeys(s.key("docs", string(kind))), begin, end, o.Most(), s.valueKey(kind, ""), s.key("docmeta", string(kind), ""))
	if err != nil {
		return nil, err
	}
	if got.status == "torn" {
		return nil, s.tornError(kind, got.texts[0])
	}
	var list []store.Document
	for texts := got.texts; len(texts) > 0; texts = texts[min(documentParts, len(texts)):] {
		d, err := s.decodeDocument(kind, texts[:min(documentParts, len(texts))])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// bounds returns the ends of a list as ZRANGEBYLEX has them.
func bounds(o store.ListOptions) (begin, end string) {
	begin, end = "["+o.Prefix, "+"
	if o.After >= o.Prefix && o.After != "" {
		begin = "(" + o.After
	}
	for i := len(o.Prefix) - 1; i >= 0; i-- {
		if c := o.Prefix[i]; c < 0xff {
			return begin, "(" + o.Prefix[:i] + string([]byte{c + 1})
		}
	}
	return begin, end
}

// Scripts of one document get its value as KEYS[3], its hash as KEYS[4], the
// sorted sets of its kind and of what expires as KEYS[5] and KEYS[6], and the
// counter of versions as KEYS[7]; its key as ARGV[3] and 'kind:key' as ARGV[4].

// erase removes a document by its 'kind:key'. The names of keys that it makes are in the
// slot of the prefix.
const erase = `
local function erase(prefix, member)
  local kind, key = string.match(member, '^(%l+):(.*)$')
  local value = prefix .. ':doc:' .. member
  if kind == 'config' then value = prefix .. ':cfg:' .. key end
  redis.call('DEL', value, prefix .. ':docmeta:' .. member)
  redis.call('ZREM', prefix .. ':docs:' .. kind, key)
  redis.call('ZREM', KEYS[6], member)
end

-- torn tells that value and hash are not both there, or both not.
local function torn(version) return (redis.call('EXISTS', KEYS[3]) == 1) ~= (version and true or false) end
`

// putScript stores a document if its version is ARGV[5] ('0': there is none), or
// if it has the mark ARGV[6]: then the same call was sent before and has stored it
// already: {'ok', version}. ARGV[7] is its type, ARGV[8] when it expires, in
// milliseconds, or ”, ARGV[9] the prefix of all keys, ARGV[10] the value. It removes a few
// documents that expired a minute ago.
var putScript = writeScript(erase + `
local d = redis.call('HMGET', KEYS[4], 'version', 'mark', 'created')
if torn(d[1]) then return {'torn'} end
if d[2] == ARGV[6] then return {'ok', d[1]} end
if (d[1] or '0') ~= ARGV[5] then return {'conflict'} end
redis.call('INCR', KEYS[7])
local version, time = redis.call('GET', KEYS[7]), now()
redis.call('SET', KEYS[3], ARGV[10])
redis.call('HSET', KEYS[4], 'version', version, 'mark', ARGV[6], 'type', ARGV[7], 'created', d[3] or time, 'updated', time, 'expires', ARGV[8])
redis.call('ZADD', KEYS[5], 0, ARGV[3])
if ARGV[8] == '' then
  redis.call('ZREM', KEYS[6], ARGV[4])
else
  redis.call('ZADD', KEYS[6], ARGV[8], ARGV[4])
  local past = string.format('%.0f', tonumber(time) / 1000 - 60000)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', past, 'LIMIT', 0, 8)) do
    erase(ARGV[9], member)
  end
end
return {'ok', version}
`)

// deleteScript removes a document if its version is ARGV[5]. ARGV[6] is the prefix
// of all keys.
var deleteScript = writeScript(erase + `
local version = redis.call('HGET', KEYS[4], 'version')
if torn(version) then return {'torn'} end
if not version then return {'ok'} end
if version ~= ARGV[5] then return {'conflict'} end
erase(ARGV[6], ARGV[4])
return {'ok'}
`)

// fields of a document's hash, in the order in which scripts return them.
const fields = `'version', 'type', 'created', 'updated', 'expires'`

// getScript returns a document: {'ok', key, value, version, type, created,
// updated, expires}, or {'ok'} if there is none.
var getScript = readScript(erase + `
local d = redis.call('HMGET', KEYS[4], ` + fields + `)
if torn(d[1]) then return {'torn'} end
if not d[1] then return {'ok'} end
return {'ok', ARGV[3], redis.call('GET', KEYS[3]), d[1], d[2] or '', d[3] or '', d[4] or '', d[5] or ''}
`)

// listScript returns documents as getScript does, one after the other: those
// with keys from ARGV[3] to ARGV[4] in the sorted set KEYS[3], at most ARGV[5].
// ARGV[6] and ARGV[7] begin the names of values and hashes.
var listScript = readScript(`
local list = {'ok'}
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])) do
  local value, d = redis.call('GET', ARGV[6] .. key), redis.call('HMGET', ARGV[7] .. key, ` + fields + `)
  if not value or not d[1] then return {'torn', key} end
  for _, text in ipairs({key, value, d[1], d[2] or '', d[3] or '', d[4] or '', d[5] or ''}) do list[#list + 1] = text end
end
return list
`)
