//! Rows written to, and read from, a Parquet file.
//!
//! The same rows give the same bytes: rows come sorted, in groups of a fixed number, and nothing of
//! time or place is written.

use std::{fs::File, path::Path, sync::Arc};

use befit_lab::{LabError, OutputFile};
use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    record::{Field, Row as ParquetRow},
    schema::types::Type,
};

use crate::{
    column::{Cell, Kind, Value, columns},
    manifest::{KEY, Manifest},
    programs::cannot,
};

/// A row: a cell of each of [`columns`].
pub(crate) type Row = Vec<Cell>;

/// Rows of one group. Writer and reader hold one group at a time.
const GROUP: usize = 8192;

/// Writes `rows`, which are sorted, into `path`, which appears whole or not at all.
///
/// # Errors
/// When a row cannot be had, or the file cannot be written.
pub(crate) fn write(
    path: &Path,
    manifest: &Manifest,
    rows: impl Iterator<Item = Result<Row, LabError>>,
) -> Result<(), LabError> {
    let failed = |error: &dyn std::fmt::Display| cannot("write", path, error);
    let target = OutputFile::create(path).map_err(|error| failed(&error))?;
    // A row that cannot be had is no failure of the file's.
    let mut missing = None;
    let written = target.commit_with(|file| {
        let rows = rows.map_while(|row| row.map_err(|error| missing = Some(error)).ok()).fuse();
        write_to(file, manifest, rows).map_err(std::io::Error::other)?;
        if missing.is_some() { Err(std::io::Error::other("a row is missing")) } else { Ok(()) }
    });
    match (written, missing) {
        (_, Some(error)) => Err(error),
        (written, None) => written.map_err(|error| failed(&error)),
    }
}

fn write_to(
    file: &mut File,
    manifest: &Manifest,
    mut rows: impl Iterator<Item = Row>,
) -> Result<(), ParquetError> {
    let columns = columns();
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical);
        let field = field.with_logical_type(logical).with_repetition(Repetition::OPTIONAL);
        field.build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
    let text = serde_json::to_string(manifest).map_err(|e| ParquetError::General(e.to_string()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("befit".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_owned(), text)]))
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    loop {
        let group: Vec<Row> = rows.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let mut to = writer.next_row_group()?;
        for (at, column) in columns.iter().enumerate() {
            let cells = group.iter().map(|row| row[at].as_ref());
            match column.kind {
                Kind::Text => put::<ByteArrayType>(&mut to, cells.map(text_of))?,
                Kind::Whole => put::<Int64Type>(&mut to, cells.map(whole_of))?,
                Kind::Number => put::<DoubleType>(&mut to, cells.map(number_of))?,
            }
        }
        to.close()?;
    }
    writer.close().map(drop)
}

fn text_of(value: Option<&Value>) -> Option<ByteArray> {
    match value {
        Some(Value::Text(text)) => Some(text.as_bytes().to_vec().into()),
        _ => None,
    }
}

fn whole_of(value: Option<&Value>) -> Option<i64> {
    match value {
        Some(Value::Whole(number)) => Some(*number),
        _ => None,
    }
}

fn number_of(value: Option<&Value>) -> Option<f64> {
    match value {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Writes the next column of a group.
fn put<T: DataType>(
    to: &mut SerializedRowGroupWriter<'_, &mut File>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let column = to.next_column()?;
    let mut column =
        column.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

/// A table, with the manifest that it holds.
pub(crate) struct Table {
    pub(crate) manifest: Manifest,
    reader: SerializedFileReader<File>,
}

/// Opens a table that a sweep wrote.
///
/// # Errors
/// [`LabError::Usage`] with the file's name: it cannot be read, or no sweep wrote it.
pub(crate) fn open(path: &Path) -> Result<Table, LabError> {
    let failed =
        |why: &dyn std::fmt::Display| LabError::Usage(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|error| failed(&error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| failed(&error))?;
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let pair = pairs.into_iter().flatten().find(|pair| pair.key == KEY);
    let text = pair.and_then(|pair| pair.value.as_deref());
    let text = text.ok_or_else(|| failed(&"no sweep of befit wrote this table"))?;
    let manifest = serde_json::from_str(text)
        .map_err(|_| failed(&"its manifest is that of another version of befit"))?;
    let names = reader.metadata().file_metadata().schema_descr().columns().iter();
    if !names.map(|column| column.name().to_owned()).eq(columns().into_iter().map(|c| c.name)) {
        return Err(failed(&"its columns are those of another version of befit"));
    }
    Ok(Table { manifest, reader })
}

impl Table {
    /// Its rows, a group of them in memory at a time.
    pub(crate) fn rows(self) -> impl Iterator<Item = Result<Row, LabError>> {
        let failed =
            |error: ParquetError| LabError::Failed(format!("cannot read a table: {error}"));
        self.reader.into_iter().map(move |row| row.map(|row| cells(&row)).map_err(failed))
    }
}

fn cells(row: &ParquetRow) -> Row {
    let cell = |field: &Field| match field {
        Field::Str(text) => Some(Value::Text(text.clone())),
        Field::Long(number) => Some(Value::Whole(*number)),
        Field::Double(number) => Some(Value::Number(*number)),
        _ => None,
    };
    row.get_column_iter().map(|(_, field)| cell(field)).collect()
}
