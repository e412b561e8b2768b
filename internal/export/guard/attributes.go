package guard

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/record"
)

// CleanResource returns res with its attributes and its schema URL repaired, and
// res itself when there is nothing to repair.
func CleanResource(res *resource.Resource) *resource.Resource {
	attrs, changed := fixAttributes(res.Attributes(), -1)
	schema := ValidText(res.SchemaURL())
	if !changed && schema == res.SchemaURL() {
		return res
	}
	return resource.NewWithAttributes(schema, attrs...)
}

// fixAttributes returns attrs with every key and every text in every value valid
// UTF-8 and within limit, at any depth of slices and maps. Bytes are only cut. When
// nothing needs repair the very same slice comes back; otherwise a copy.
func fixAttributes(attrs []attribute.KeyValue, limit int) (out []attribute.KeyValue, changed bool) {
	out = attrs
	for i, kv := range attrs {
		key := attribute.Key(ValidText(string(kv.Key)))
		value, valueChanged := fixValue(kv.Value, limit)
		if key == kv.Key && !valueChanged {
			continue
		}
		if !changed {
			out, changed = slices.Clone(attrs), true
		}
		out[i] = attribute.KeyValue{Key: key, Value: value}
	}
	return out, changed
}

// fixValue repairs and cuts the texts in v; of bytes it keeps the first limit.
func fixValue(v attribute.Value, limit int) (attribute.Value, bool) {
	switch v.Type() {
	case attribute.STRING:
		s := v.AsString()
		if fixed := FixText(s, limit); fixed != s {
			return attribute.StringValue(fixed), true
		}
	case attribute.BYTESLICE:
		if b := v.AsByteSlice(); limit >= 0 && len(b) > limit {
			return attribute.ByteSliceValue(b[:limit]), true
		}
	case attribute.STRINGSLICE:
		texts, changed := v.AsStringSlice(), false
		for i, s := range texts {
			if fixed := FixText(s, limit); fixed != s {
				texts[i], changed = fixed, true // AsStringSlice made a copy
			}
		}
		if changed {
			return attribute.StringSliceValue(texts), true
		}
	case attribute.SLICE:
		values, changed := v.AsSlice(), false
		for i, e := range values {
			if fixed, c := fixValue(e, limit); c {
				values[i], changed = fixed, true
			}
		}
		if changed {
			return attribute.SliceValue(values...), true
		}
	case attribute.MAP:
		if kvs, changed := fixAttributes(v.AsMap(), limit); changed {
			return attribute.MapValue(kvs...), true
		}
	}
	return v, false
}

// span is a span of the SDK with some of its parts replaced. It embeds the
// original for everything else, and for the method that keeps the interface to
// the SDK.
type span struct {
	sdktrace.ReadOnlySpan
	name     string
	attrs    []attribute.KeyValue
	events   []sdktrace.Event
	links    []sdktrace.Link
	status   sdktrace.Status
	scope    instrumentation.Scope
	resource *resource.Resource
}

func (s *span) Name() string                                { return s.name }
func (s *span) Attributes() []attribute.KeyValue            { return s.attrs }
func (s *span) Events() []sdktrace.Event                    { return s.events }
func (s *span) Links() []sdktrace.Link                      { return s.links }
func (s *span) Status() sdktrace.Status                     { return s.status }
func (s *span) InstrumentationScope() instrumentation.Scope { return s.scope }
func (s *span) Resource() *resource.Resource                { return s.resource }

// InstrumentationLibrary is the scope under its old name.
//
//lint:ignore SA1019 The interface has it.
func (s *span) InstrumentationLibrary() instrumentation.Library { return s.scope }

// cleaned is the resource and scope of the last span, repaired.
type cleaned struct {
	place                   *instrumentation.Scope // of a recorder's span, which says that it is the same without a look
	resource, cleanResource *resource.Resource
	scope, cleanScope       instrumentation.Scope
	dirty                   bool
}

// of makes c that of s.
func (c *cleaned) of(s sdktrace.ReadOnlySpan) {
	res := s.Resource()
	var place *instrumentation.Scope
	if ours, ok := s.(*record.Span); ok {
		if place = ours.Scope(); place == c.place && c.cleanResource != nil && res == c.resource {
			return
		}
	}
	c.place = place
	scope := s.InstrumentationScope()
	if c.cleanResource != nil && res == c.resource && scope == c.scope {
		return
	}
	c.resource, c.scope = res, scope
	c.cleanResource, c.cleanScope = CleanResource(res), cleanScope(scope)
	c.dirty = c.cleanResource != res || c.cleanScope != scope
}

// isPlain is isFine for nearly all of the recorder's spans, without most of the looks.
func (l TextLimits) isPlain(s *record.Span, group *cleaned) bool {
	return s.IsPlain() && s.Scope() == group.place && s.Resource() == group.resource && !group.dirty &&
		isShort(s.Name(), l.Name) && areShort(s.Attributes(), l.Value)
}

// isFine reports that nothing in s needs repair. It takes no copies, because nearly
// every span is fine; that some need a closer look is no answer.
func (l TextLimits) isFine(s sdktrace.ReadOnlySpan, group *cleaned) bool {
	return !group.dirty && isShort(s.Name(), l.Name) && areShort(s.Attributes(), l.Value) &&
		isShort(s.Status().Description, l.Value) && len(s.Events()) == 0 && len(s.Links()) == 0
}

func areShort(attrs []attribute.KeyValue, limit int) bool {
	for i := range attrs {
		kv := &attrs[i]
		if !isValid(string(kv.Key)) {
			return false
		}
		switch kv.Value.Type() {
		case attribute.STRING:
			if !isShort(kv.Value.AsString(), limit) {
				return false
			}
		case attribute.BYTESLICE, attribute.STRINGSLICE, attribute.SLICE, attribute.MAP:
			return false
		}
	}
	return true
}

// isShort reports that s is valid and has no more bytes than it may have characters.
func isShort(s string, limit int) bool {
	return (limit < 0 || len(s) <= limit) && isValid(s)
}

// fix returns a copy of s in which all text is valid and within the limits, or nil when
// nothing needs repair. The trace state needs nothing: the API accepts printable
// ASCII only.
func (l TextLimits) fix(s sdktrace.ReadOnlySpan, group *cleaned) *span {
	if l.isFine(s, group) {
		return nil
	}
	out := span{
		ReadOnlySpan: s, name: FixText(s.Name(), l.Name), status: s.Status(), events: s.Events(), links: s.Links(),
		scope: group.cleanScope, resource: group.cleanResource,
	}
	dirty := group.dirty || out.name != s.Name()
	changed := false
	out.attrs, changed = fixAttributes(s.Attributes(), l.Value)
	dirty = dirty || changed
	if text := FixText(out.status.Description, l.Value); text != out.status.Description {
		out.status.Description, dirty = text, true
	}
	// Shallow copies, whose elements get attributes of their own.
	owned := false
	for i, e := range out.events {
		name := FixText(e.Name, l.Name)
		attrs, changed := fixAttributes(e.Attributes, l.Value)
		if !changed && name == e.Name {
			continue
		}
		if !owned {
			out.events, owned = slices.Clone(out.events), true
		}
		out.events[i].Name, out.events[i].Attributes = name, attrs
	}
	dirty, owned = dirty || owned, false
	for i, link := range out.links {
		attrs, changed := fixAttributes(link.Attributes, l.Value)
		if !changed {
			continue
		}
		if !owned {
			out.links, owned = slices.Clone(out.links), true
		}
		out.links[i].Attributes = attrs
	}
	if dirty || owned {
		kept := out // no allocation for those that are not
		return &kept
	}
	return nil
}

func cleanScope(s instrumentation.Scope) instrumentation.Scope {
	s.Name, s.Version, s.SchemaURL = ValidText(s.Name), ValidText(s.Version), ValidText(s.SchemaURL)
	if attrs, changed := fixAttributes(s.Attributes.ToSlice(), -1); changed {
		s.Attributes = attribute.NewSet(attrs...)
	}
	return s
}
