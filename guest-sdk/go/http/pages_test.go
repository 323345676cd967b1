package http

import (
	"fmt"
	"slices"
	"testing"
)

// lists is a cloud with seven items, whose pages end in this way.
func lists(t *testing.T, end func(page, size int) string) *[]string {
	asked := new([]string)
	Native.Send = func(request Request) (Response, error) {
		*asked = append(*asked, fmt.Sprint(request.Query))
		var page, size int
		fmt.Sscan(request.Query[0][1], &page)
		fmt.Sscan(request.Query[1][1], &size)
		all := []string{"1", "2", "3", "4", "5", "6", "7"}
		first := min((page-1)*size, len(all))
		items := fmt.Sprint(all[first:min(first+size, len(all))])
		body := fmt.Sprintf(`{ "items": %s%s }`, commas(items), end(page, size))
		return Response{Status: 200, Body: []byte(body)}, nil
	}
	t.Cleanup(func() { Native.Send = nil })
	return asked
}

func commas(list string) string {
	bytes := []byte(list)
	for i, it := range bytes {
		if it == ' ' {
			bytes[i] = ','
		}
	}
	return string(bytes)
}

func TestListIsReadToItsEndWhateverSaysSo(t *testing.T) {
	pages := NumberedPages{Number: "page", Size: "size", Smallest: 1, Largest: 3, Next: []string{"meta", "end"}}
	for end, field := range map[PageEnd]func(page, size int) string{
		PageEndNext: func(page, size int) string {
			if page*size < 7 {
				return fmt.Sprintf(`, "meta": { "end": %d }`, page+1)
			}
			return `, "meta": { "end": null }`
		},
		PageEndPages:   func(int, int) string { return `, "meta": { "end": 3 }` },
		PageEndItems:   func(int, int) string { return `, "meta": { "end": 7 }` },
		PageEndNotFull: func(int, int) string { return "" },
	} {
		asked := lists(t, field)
		pages.End = end
		all, err := All[int](pages, Get("api", "machines"), "items")
		if err != nil || !slices.Equal(all, []int{1, 2, 3, 4, 5, 6, 7}) || len(*asked) != 3 {
			t.Fatal(end, all, err, *asked)
		}
	}
}

func TestListWithoutItsCountIsAnError(t *testing.T) {
	lists(t, func(int, int) string { return "" })
	pages := NumberedPages{Number: "page", Size: "size", Largest: 3, Next: []string{"pages"}, End: PageEndPages}
	if all, err := All[int](pages, Get("api", "machines"), "items"); err == nil {
		t.Fatal(all)
	}
	if all, err := All[int](NumberedPages{Number: "page", Size: "size", Largest: 3}, Get("api", "machines"), "machines"); err == nil {
		t.Fatal(all)
	}
}

func TestPageThatIsTooSmallIsAPartOfALargerOne(t *testing.T) {
	asked := lists(t, func(page, size int) string { return "" })
	pages := NumberedPages{Number: "page", Size: "size", Smallest: 5, Largest: 100, End: PageEndNotFull}
	var all []int
	for number := uint32(1); ; number++ {
		page, isLast, err := Page[int](pages, Get("api", "machines"), "items", number, 2)
		if all = append(all, page...); err != nil || len(page) > 2 {
			t.Fatal(page, err)
		}
		if isLast {
			break
		}
	}
	if !slices.Equal(all, []int{1, 2, 3, 4, 5, 6, 7}) || (*asked)[0] != "[[page 1] [size 6]]" {
		t.Fatal(all, *asked)
	}
}
