/** The window's title: how many messages are unread, and the page. */
let page = document.title;
let unread = 0;

const show = () => {
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${page}`;
};

export function setPageTitle(title: string): void {
  page = `${title} · Rebid`;
  show();
}

export function setUnread(count: number): void {
  unread = count;
  show();
}
